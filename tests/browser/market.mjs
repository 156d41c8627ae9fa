// An exchange behind TLS, a farm of DSPs, and the publisher's web server, which also takes the DSPs' notices.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { Program } from './programs.mjs';

const page = `<!doctype html><title>page</title><script src="/prebid.js"></script>
<iframe id="top" width="300" height="250"></iframe><iframe id="side" width="728" height="90"></iframe>`;

/// Requests for paths of its own are answered as a publisher would; all others are notices and kept.
async function publisher(bundle) {
  const notices = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://publisher');
    if (url.pathname === '/') {
      response.setHeader('Content-Type', 'text/html').end(page);
    } else if (url.pathname === '/prebid.js') {
      response.setHeader('Content-Type', 'text/javascript').end(bundle);
    } else {
      if (url.pathname !== '/favicon.ico') notices.push(url);
      response.writeHead(204).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, notices, origin: `http://127.0.0.1:${server.address().port}` };
}

function certificate(work) {
  const [cert, key] = [path.join(work, 'exchange.pem'), path.join(work, 'exchange.key')];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
    '-keyout', key, '-out', cert, '-days', '30', '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'],
    { stdio: 'pipe' });
  return { cert, key };
}

const farm_config = (origin) => `
dsps:
  - name: alpha
    bid_rate: 1
    price: { low: 2, high: 2 }
    latency: { kind: constant, value: 5ms }
    notice_url: "${origin}/alpha"
  - name: beta
    bid_rate: 1
    price: { low: 1, high: 1 }
    latency: { kind: constant, value: 5ms }
    notice_url: "${origin}/beta"
  - { name: mute, bid_rate: 0, latency: { kind: constant, value: 5ms } }
`;

// "server": as the documentation tells for Prebid.js's own adapter; "page": for those that report nothing but a nurl.
const exchange_config = ({ cert, key, ports, url }) => `
exchange: { listen: 127.0.0.1:0, workers: 1, tls: { cert_file: ${cert}, key_file: ${key} } }
admin: { listen: 127.0.0.1:0 }
timing: { tmax_default: 1s, tmax_max: 5s }
dsps:
${['alpha', 'beta', 'mute'].map((dsp) => `  - { name: ${dsp}, endpoint: "http://127.0.0.1:${ports[dsp]}/bid?key=hush" }`).join('\n')}
accounts:
  - { publisher: server, auction_is_final: false, debug: allow }
  - { publisher: page, auction_is_final: false, billing: on_win }
  - { publisher: house, fallback: { no_bid: house } }
house_ads:
  - { type: banner, w: 300, h: 250, adm: '<a href="https://alpha.example/click"><img src="https://house.example/ad.png"></a>' }
notices:
  public_url: "${url}"
  allow_private: true
  keys: [{ id: k1, secret: "0123456789abcdef0123456789abcdef" }]
`;

/// Everything a page meets. `programs`: the build's folder of programs; `work`: where files go, with prebid.js there.
export async function open_market(programs, work) {
  const site = await publisher(readFileSync(path.join(work, 'prebid.js')));
  const file = (name, text) => {
    writeFileSync(path.join(work, name), text);
    return path.join(work, name);
  };
  const farm = new Program(path.join(programs, 'spillway-dsp'), '--config', file('farm.yaml', farm_config(site.origin)));
  const ports = {};
  for (const dsp of ['alpha', 'beta', 'mute']) {
    ports[dsp] = (await farm.line(new RegExp(`event=started dsp=${dsp} listen=127.0.0.1:(\\d+)`)))[1];
  }
  const settings = { ...certificate(work), ports, url: 'https://127.0.0.1:1' };
  const config = file('exchange.yaml', exchange_config(settings));
  const exchange = new Program(path.join(programs, 'spillway-exchange'), '--config', config);
  const port = (await exchange.line(/event=started listen=\S*:(\d+) admin/))[1];
  // The port is known only now, and event URLs name it.
  writeFileSync(config, exchange_config({ ...settings, url: `https://127.0.0.1:${port}` }));
  exchange.child.kill('SIGHUP');
  await exchange.line(/event=reloaded/);
  return {
    origin: site.origin,
    notices: site.notices,
    host: `127.0.0.1:${port}`,
    /// The exit codes of exchange and farm.
    async close() {
      site.server.closeAllConnections();
      site.server.close();
      return [await exchange.stop(), await farm.stop()];
    },
  };
}
