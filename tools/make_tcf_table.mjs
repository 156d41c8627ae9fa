// Writes a table of consent strings made by @iabtcf/core and what they say, for tcf_table_test.cc.
//
//     npm install @iabtcf/core@1.5.6 && node make_tcf_table.mjs > tcf_table.tsv
//
// Columns: string, CMP, vendor list version, policy version, then as comma lists: consented
// purposes, purposes by legitimate interest, consented vendors, vendors by legitimate interest.
import {GVL, Segment, TCModel, TCString} from '@iabtcf/core';

let state = 20240601;  // Fixed: the table is the same on every run.
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 4294967296) * below);
};

const vendors = {};
const purposes = {};
for (let id = 1; id <= 11; ++id) {
  purposes[id] = {id, name: `p${id}`, description: '', illustrations: []};
}
for (let id = 1; id <= 1300; ++id) {
  vendors[id] = {id, name: `v${id}`, purposes: [1, 2, 3, 4, 7], legIntPurposes: [8, 9, 10], flexiblePurposes: [2, 7, 8],
    specialPurposes: [1], features: [], specialFeatures: [], policyUrl: ''};
}
const gvl = new GVL({gvlSpecificationVersion: 3, vendorListVersion: 48, tcfPolicyVersion: 4,
  lastUpdated: '2024-06-01T00:00:00Z', purposes, specialPurposes: {1: {id: 1}}, features: {}, specialFeatures: {},
  stacks: {}, vendors});

const pick = (count, below) => [...new Set(Array.from({length: count}, () => 1 + random(below)))].sort((a, b) => a - b);
const vendorSet = () => {
  const shape = random(4);
  if (shape === 0) return [];
  if (shape === 1) return pick(1 + random(12), 60);
  if (shape === 2) return pick(1 + random(4), 1300);
  const first = 1 + random(1200);
  return Array.from({length: 1 + random(20)}, (_, i) => first + i);
};

const rows = Number(process.argv[2] ?? 3000);
for (let row = 0; row < rows; ++row) {
  const model = new TCModel(gvl);
  model.cmpId = 2 + random(4000);
  model.cmpVersion = 1 + random(4000);
  model.consentScreen = random(64);
  model.isServiceSpecific = true;
  model.purposeConsents.set(pick(random(12), 11));
  model.purposeLegitimateInterests.set(pick(random(8), 11).filter((id) => id > 1));
  model.vendorConsents.set(vendorSet());
  model.vendorLegitimateInterests.set(vendorSet());
  const text = TCString.encode(model, {segments: [Segment.CORE]});
  const back = TCString.decode(text);  // What the oracle reads, not what we asked it to write.
  const list = (set, end) => Array.from({length: end}, (_, i) => i + 1).filter((id) => set.has(id)).join(',');
  console.log([text, back.cmpId, back.vendorListVersion, back.policyVersion, list(back.purposeConsents, 24),
    list(back.purposeLegitimateInterests, 24), list(back.vendorConsents, 1400),
    list(back.vendorLegitimateInterests, 1400)].join('\t'));
}
