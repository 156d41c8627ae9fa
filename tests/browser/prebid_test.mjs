// The real Prebid.js in a real browser against a real exchange: node prebid_test.mjs PROGRAMS WORK
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { open_market } from './market.mjs';
import { until } from './programs.mjs';

const [programs, work] = process.argv.slice(2).map((folder) => path.resolve(folder));
const { chromium } = createRequire(path.join(work, 'package.json'))('playwright-core');

const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const units = [
  { code: 'top', mediaTypes: { banner: { sizes: [[300, 250]] } } },
  { code: 'side', mediaTypes: { banner: { sizes: [[728, 90], [970, 90]] } } },
];

const video = { context: 'instream', playerSize: [640, 360], mimes: ['video/mp4'], protocols: [2, 3, 7] };

let browser, market, context, page, calls, images, problems;

before(async () => {
  market = await open_market(programs, work);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
});

after(async () => {
  await browser?.close();
  assert.deepEqual(await market?.close(), [0, 0]);
});

beforeEach(async () => {
  market.notices.length = 0;
  [calls, images, problems] = [[], [], []];
  context = await browser.newContext({ ignoreHTTPSErrors: true });
  await context.route((url) => url.hostname !== '127.0.0.1', (route) => route.abort());
  await context.route(/^https:\/\/[a-z]+\.example\//, (route) => {
    images.push(route.request().url());
    return route.fulfill({ contentType: 'image/png', body: pixel });
  });
  page = await context.newPage();
  page.on('response', async (response) => {
    const url = new URL(response.url());
    if (url.host !== market.host) return;
    const call = { path: url.pathname, url, status: response.status(), headers: response.request().headers() };
    call.method = response.request().method();
    calls.push(call);
    call.answer = await response.text().catch(() => '');
  });
  page.on('requestfailed', (request) => {
    const { host, pathname } = new URL(request.url());
    // The browser calls the 204 of an event aborted.
    if (host === market.host && pathname !== '/event') problems.push(`${request.url()}: ${request.failure().errorText}`);
  });
  if (process.env.SHOW_CONSOLE) page.on('console', (message) => console.error(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(market.origin);
});

afterEach(async () => {
  await context.close();
  assert.deepEqual(problems, []);
});

/// One auction in the page: { bids: by ad unit, errors: bidders that failed }.
function auction(setup) {
  return page.evaluate(({ config, units }) => new Promise((resolve) => {
    const { pbjs } = window;
    const errors = [];
    pbjs.onEvent('bidderError', ({ bidderRequest, error }) => errors.push(`${bidderRequest.bidderCode}: ${error?.status}`));
    pbjs.onEvent('bidRejected', (bid) => errors.push(`rejected: ${bid.rejectionReason}`));
    pbjs.setConfig({ enableTIDs: true, userSync: { syncDelay: 0 }, ...config });
    pbjs.addAdUnits(units);
    pbjs.requestBids({ timeout: 8000, bidsBackHandler: (by_unit) => {
      const bids = {};
      for (const [code, of_unit] of Object.entries(by_unit)) bids[code] = of_unit.bids;
      resolve({ bids: JSON.parse(JSON.stringify(bids)), errors });
    } });
  }), setup);
}

const server_config = (more = {}) => ({
  s2sConfig: {
    accountId: 'server', enabled: true, bidders: ['alpha', 'Beta', 'mute'], timeout: 5000,
    endpoint: `https://${market.host}/openrtb2/auction`, syncEndpoint: `https://${market.host}/cookie_sync`, ...more,
  },
});

const with_bids = (bids) => units.map((unit) => ({ ...unit, bids }));
const server_units = with_bids([{ bidder: 'alpha', params: { placement: 7 } }, { bidder: 'Beta', params: {} }]);

/// Renders a bid into the frame of its ad unit and waits until its creative is there to be seen.
async function render(unit, bid) {
  await page.evaluate(({ unit, id }) => {
    const frame = document.getElementById(unit);
    window.pbjs.renderAd(frame.contentDocument, id);
  }, { unit, id: bid.adId });
  const seen = async () => {
    for (const frame of page.frames()) {
      const image = frame.locator('a[href="https://alpha.example/click"] img');
      if (await image.count() > 0 && await image.isVisible() && await image.evaluate((img) => img.naturalWidth > 0)) {
        let top = frame;
        while (top.parentFrame() !== page.mainFrame()) top = top.parentFrame();
        if (await (await top.frameElement()).getAttribute('id') === unit) return true;
      }
    }
    return false;
  };
  await until(() => `the creative in ${unit}; images ${images}, problems ${problems}`, seen);
}

const notices_of = (kind) => market.notices.filter((url) => url.pathname === kind).map((url) => url.search).sort();
const events_of = (type) => calls.filter(({ path, url }) => path === '/event' && url.searchParams.get('type') === type);

/// Both ads won by alpha at its price, seen, and told to it once.
async function show_both(bids) {
  for (const { code } of units) {
    assert.equal(bids[code]?.[0]?.cpm, 2, JSON.stringify(bids));
    await render(code, bids[code][0]);
  }
  const complete = () => notices_of('/alpha/win').length === 2 && notices_of('/alpha/bill').length === 2;
  await until(() => `notices; got ${market.notices.join(' ')}, events ${calls.map(({ url, status }) => `${status} ${url}`).join('\n')}`, complete);
  assert.ok(images.includes('https://alpha.example/ad.png?p=2'), images.join(' '));
}

test('The server adapter gets bids for both ad units, shows them, and reports wins and impressions', async () => {
  const { bids, errors } = await auction({ config: server_config(), units: server_units });
  assert.deepEqual(errors, []);
  assert.deepEqual(bids.top.map((bid) => [bid.bidderCode, bid.mediaType, bid.width, bid.height]), [['alpha', 'banner', 300, 250]]);
  assert.deepEqual(bids.side.map((bid) => [bid.bidderCode, bid.width, bid.height]), [['alpha', 728, 90]]);
  assert.deepEqual(notices_of('/alpha/win'), []);
  await show_both(bids);
  assert.deepEqual(events_of('win').map(({ status }) => status), [204, 204]);
  assert.deepEqual(events_of('imp').map(({ status }) => status), [204, 204]);
  assert.deepEqual(notices_of('/alpha/bill'), ['?i=side&p=2', '?i=top&p=2']);
  assert.deepEqual(notices_of('/alpha/win'), ['?i=side&p=2', '?i=top&p=2']);
  assert.deepEqual(notices_of('/beta/loss'), ['?i=side&l=102', '?i=top&l=102']);
});

test('The page is told that nobody has to be synced', async () => {
  await auction({ config: server_config(), units: server_units });
  await until(() => 'an answer of /cookie_sync', () => calls.some(({ path, answer }) => path === '/cookie_sync' && answer));
  const sync = calls.find(({ path }) => path === '/cookie_sync');
  assert.equal(sync.status, 200);
  assert.deepEqual(JSON.parse(sync.answer), { status: 'ok', bidder_status: [] });
});

test('A bid comes under the name that the page calls the bidder by', async () => {
  const { bids, errors } = await auction({ config: server_config(), units: with_bids([{ bidder: 'Beta', params: {} }]) });
  assert.deepEqual(errors, []);
  assert.deepEqual(bids.top.map((bid) => [bid.bidderCode, bid.cpm]), [['Beta', 1]]);
});

test('Compressed requests that no header announces are understood', async () => {
  const { bids, errors } = await auction({ config: server_config({ endpointCompression: true }), units: server_units });
  assert.deepEqual(errors, []);
  assert.equal(bids.top[0].cpm, 2);
  assert.ok(calls.some(({ url }) => url.search === '?gzip=1'));
});

test('Requests with headers of the page\'s own pass the preflight', async () => {
  const config = server_config({ customHeaders: { 'X-Page': 'yes' } });
  const { bids, errors } = await auction({ config, units: server_units });
  assert.deepEqual(errors, []);
  assert.equal(bids.top[0].cpm, 2);
  assert.equal(calls.find(({ path, method }) => path === '/openrtb2/auction' && method === 'POST').headers['x-page'], 'yes');
});

test('No bid is an answer and no error', async () => {
  const { bids, errors } = await auction({ config: server_config(), units: with_bids([{ bidder: 'mute', params: {} }]) });
  assert.deepEqual(errors, []);
  assert.deepEqual(bids, {});
});

test('A house ad comes to pages that take its seat, and nobody is told', async () => {
  const config = server_config({ accountId: 'house', allowUnknownBidderCodes: true });
  const { bids, errors } = await auction({ config, units: with_bids([{ bidder: 'mute', params: {} }]) });
  assert.deepEqual(errors, []);
  assert.deepEqual(bids.top.map((bid) => [bid.bidderCode, bid.mediaType]), [['house', 'banner']]);
  await render('top', bids.top[0]);
  assert.deepEqual([events_of('win'), events_of('imp'), market.notices], [[], [], []]);
});

test('Video and native bids are taken for what they are', async () => {
  const mixed = [
    { code: 'top', mediaTypes: { video } },
    { code: 'side', mediaTypes: { native: { ortb: { assets: [{ id: 1, required: 1, title: { len: 90 } }] } } } },
  ].map((unit) => ({ ...unit, bids: [{ bidder: 'alpha', params: {} }] }));
  const { bids, errors } = await auction({ config: { ...server_config(), cache: { useLocal: true } }, units: mixed });
  assert.deepEqual(errors, []);
  assert.equal(bids.top[0].mediaType, 'video');
  assert.match(bids.top[0].vastXml, /<VAST version="4.0">/);
  assert.doesNotMatch(bids.top[0].vastUrl ?? '', /event/);
  assert.equal(bids.side[0].mediaType, 'native');
});

test('With debug the page sees the calls, without secrets', async () => {
  await auction({ config: { ...server_config(), debug: true }, units: server_units });
  await until(() => 'the answer', () => calls.some(({ path, answer }) => path === '/openrtb2/auction' && answer));
  const { answer } = calls.find(({ path }) => path === '/openrtb2/auction');
  const { ext } = JSON.parse(answer);
  assert.ok(ext.debug.httpcalls.alpha, `alpha was not asked: ${JSON.stringify(ext.seatnonbid)}`);
  const [call] = ext.debug.httpcalls.alpha;
  assert.equal(call.status, 200);
  assert.match(call.uri, /\/bid\?key=redacted$/);
  assert.deepEqual(JSON.parse(call.requestbody).imp.map((imp) => imp.ext.bidder), [{ placement: 7 }, { placement: 7 }]);
  assert.equal(JSON.parse(call.responsebody).seatbid[0].bid[0].burl, 'redacted');
});

for (const [name, params] of [
  ['goadserver', () => ({ host: market.host, token: 'page' })],
  ['adkernel', () => ({ host: market.host, zoneId: 1 })],
]) {
  test(`${name} gets bids for both ad units, shows them, and reports the win`, async () => {
    const config = { ortb2: { site: { publisher: { id: 'page' } } } };
    const { bids, errors } = await auction({ config, units: with_bids([{ bidder: name, params: params() }]) });
    assert.deepEqual(errors, []);
    assert.deepEqual(bids.top.map((bid) => [bid.mediaType, bid.width, bid.height]), [['banner', 300, 250]]);
    assert.deepEqual(notices_of('/alpha/win'), []);
    await show_both(bids);
    assert.deepEqual(events_of('win').map(({ status }) => status), [204, 204]);
  });

  test(`${name} takes a video for the ad, not the URL of its win`, async () => {
    const config = { ortb2: { site: { publisher: { id: 'page' } } }, cache: { useLocal: true } };
    const unit = { code: 'top', mediaTypes: { video }, bids: [{ bidder: name, params: params() }] };
    const { bids, errors } = await auction({ config, units: [unit] });
    assert.deepEqual(errors, []);
    assert.equal(bids.top[0].mediaType, 'video');
    assert.match(bids.top[0].vastXml, /<VAST version="4.0">/);
    assert.doesNotMatch(bids.top[0].vastUrl ?? '', /event/);
  });
}
