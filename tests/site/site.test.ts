/**
 * Tests the links of the built site, and its search in Chromium or Chrome. `make test-site` first builds the site. If
 * `SITE_SCREENSHOTS` is set, the test writes screenshots of a page to that folder.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, posix } from 'node:path';
import { after, before, test } from 'node:test';
import { type BrowserContext, chromium } from 'playwright-core';
import { ROOT } from '../docs/files';

const SITE = join(ROOT, 'target', 'site');
const DOCS = join(ROOT, 'docs');
const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/** Lists the files with this extension under a folder, as paths relative to the folder. */
const files = (folder: string, extension: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith(extension));

/** Returns the file for a page address, because the site's addresses have no file extensions. */
function fileOf(address: string): string | undefined {
  const path = decodeURIComponent(address).replace(/^\//, '').replace(/\/$/, '/index').replace(/^$/, 'index');
  return [path, `${path}.html`].find((name) =>
    statSync(join(SITE, name), { throwIfNoEntry: false })?.isFile(),
  );
}

let server: Server;
let profile: string;
let browser: BrowserContext;
const home = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

before(async () => {
  server = createServer(({ url = '/' }, response) => {
    const found = fileOf(url.split('?')[0] ?? '');
    if (found === undefined) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': TYPES[extname(found)] ?? 'application/octet-stream' });
    return response.end(readFileSync(join(SITE, found)));
  }).listen(0, '127.0.0.1');
  profile = mkdtempSync(join(tmpdir(), 'freshq-site-'));
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: installed(['chromium', 'chromium-browser', 'google-chrome']),
    args: ['--no-sandbox', '--disable-gpu'],
    viewport: { width: 1280, height: 900 },
    permissions: [],
  });
});

after(async () => {
  await browser?.close();
  server.close();
  rmSync(profile, { recursive: true, force: true });
});

/** Returns the path of the first installed program in this list. Without one, all tests fail, even in CI. */
function installed(names: readonly string[]): string {
  const path = execFileSync('sh', ['-c', names.map((name) => `command -v ${name}`).join(' || ')], {
    encoding: 'utf8',
  });
  return path.trim();
}

test('every page of docs is on the site', () => {
  const pages = files(DOCS, '.md').map(
    (name) => `/${name.replace(/\.md$/, '').replace(/(^|\/)README$/, '$1')}`,
  );
  assert.ok(pages.length > 50);
  assert.deepEqual(
    pages.filter((page) => fileOf(page) === undefined),
    [],
  );
});

test('every link leads to a page and a heading of the site', () => {
  const broken = files(SITE, '.html').flatMap((name) => {
    const html = readFileSync(join(SITE, name), 'utf8');
    const links = [...html.matchAll(/<a [^>]*?href="([^"]*)"/g)].map(([, href = '']) => href);
    return links
      .filter((href) => !/^[a-z]+:/.test(href) && !leadsSomewhere(name, href))
      .map((href) => `${name}: ${href}`);
  });
  assert.deepEqual(broken, []);
});

function leadsSomewhere(from: string, href: string): boolean {
  const [path = '', anchor = ''] = href.split('#');
  const target =
    path === ''
      ? from
      : fileOf(posix.resolve('/', posix.dirname(from), path) + (path.endsWith('/') ? '/' : ''));
  if (target === undefined) return false;
  return (
    anchor === '' || readFileSync(join(SITE, target), 'utf8').includes(`id="${decodeURIComponent(anchor)}"`)
  );
}

test('the search for Retry-After lists the guide for endpoints first, and it opens without an error', async () => {
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(home());
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search').fill('retry-after');
  await page.locator('.VPLocalSearchBox a.result').first().click();
  await page.getByRole('heading', { level: 1, name: 'Run tasks with an HTTP endpoint' }).waitFor();
  assert.deepEqual(errors, []);
});

test('a page follows the color scheme of the system', async () => {
  const page = await browser.newPage();
  const colours = new Set();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(`${home()}/explanation/overload`);
    colours.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
    const folder = process.env.SITE_SCREENSHOTS;
    if (folder) await page.screenshot({ path: join(folder, `overload-${colorScheme}.png`) });
  }
  assert.equal(colours.size, 2);
});
