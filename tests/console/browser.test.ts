/**
 * Tests the console in Chromium. `test_console.py` starts the local AWS, two consoles, and this file. The tests run in
 * this order on one queue.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { type BrowserContext, chromium, type Page, request } from 'playwright-core';

const given = (name: string) => {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: run make test-console`);
  return value;
};

const CONSOLE = given('CONSOLE');
const READ_ONLY = given('CONSOLE_READ_ONLY');
const SCREENSHOTS = process.env.CONSOLE_SCREENSHOTS;
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/**
 * Maximum time until the page shows a change, in milliseconds: a few page updates plus the queue's processing.
 */
const SOON = 20_000;

/**
 * Duration of the tab's sleep, in milliseconds. A chart line breaks after three missing one-second updates. The console
 * itself reads every 30 seconds, at most once during the sleep.
 */
const ASLEEP = 8_000;

let browser: BrowserContext;
let page: Page;
const errors: string[] = [];

before(async () => {
  browser = await chromium.launchPersistentContext(given('CONSOLE_PROFILE'), {
    executablePath: given('CONSOLE_BROWSER'),
    headless: true,
    args: FLAGS,
    viewport: { width: 1180, height: 900 },
    colorScheme: 'light',
  });
  browser.setDefaultTimeout(SOON);
  page = browser.pages()[0] ?? (await browser.newPage());
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(error.message));
});

after(async () => {
  await browser.close();
});

const freshq = (...line: string[]) =>
  execFileSync(given('CONSOLE_FRESHQ'), [...line, '--env', 'dev'], { encoding: 'utf8' });

/** Creates a task. The queue is paused, so the task stays pending. */
const create = (id: string) => freshq('create', '--id', id, '--payload', JSON.stringify({ order: id }));

/** Locates the value of an entry in the State section. */
const fact = (name: string) => page.locator(`#state div:has(> dt:text-is("${name}")) dd`);

/** Waits until the page shows a text without a reload. */
const shows = (text: string | RegExp) => page.getByText(text).first().waitFor();
const heading = (name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

const focused = () => page.locator(':focus');

/** Presses Tab until an element with this text has focus. */
async function tabTo(text: string): Promise<void> {
  for (let step = 0; step < 60; step++) {
    await page.keyboard.press('Tab');
    if ((await focused().count()) > 0 && (await focused().innerText()).trim() === text) return;
  }
  assert.fail(`Tab does not reach ${text}`);
}

/** Presses a button in a confirmation and waits for the outcome. */
async function confirm(button: string, outcome: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click();
  await page.locator('.outcome', { hasText: outcome }).waitFor();
}

test('the keyboard alone can pause the queue, after a confirmation', async () => {
  await page.goto(CONSOLE);
  await page.keyboard.press('Tab');
  assert.equal(await focused().innerText(), 'Skip to the content');
  const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
  assert.equal(outline, 'solid', 'the focus is visible');
  await tabTo('Pause…');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/pause$/);
  await page.getByLabel('Reason, for other operators').waitFor();
  assert.equal(await focused().getAttribute('name'), 'reason', 'the first empty field has the focus');
  await page.keyboard.type('browser test');
  await tabTo('Pause');
  await page.keyboard.press('Enter');
  await page.locator('.outcome', { hasText: 'paused until' }).waitFor();
  assert.match(await focused().innerText(), /paused until/, 'a screen reader reads the outcome');
  await page.locator('#warnings', { hasText: 'browser test' }).waitFor();
  assert.match(await fact('paused').innerText(), /29m|30m/);
});

test('the depth rises as tasks are created, without a reload', async () => {
  await page.goto(CONSOLE);
  assert.equal(await fact('PENDING').innerText(), '0');
  await page.locator('#state a', { hasText: 'Pause…' }).focus();
  for (let number = 1; number <= 5; number++) create(`order-${number}`);
  await heading('Pending tasks: 5');
  assert.equal(await fact('PENDING').innerText(), '5');
  assert.equal(await focused().innerText(), 'Pause…', 'an update of the page does not move the focus');
  assert.equal(await page.locator('#charts svg').count(), 6);
  const newest = page.locator('#pending table').first().locator('tbody tr').first();
  assert.match(await newest.innerText(), /^order-5/);
});

test('after the tab sleeps, the charts have a gap and the page continues to update', async () => {
  const other = await browser.browser()?.newContext();
  assert.ok(other, 'the browser has further contexts');
  const tab = await other.newPage();
  await tab.clock.install();
  // No page of this console has been open before.
  await tab.goto(READ_ONLY);
  const lines = async () => {
    const drawn = tab.locator('#charts figure').first().locator('polyline[stroke="#0000FF"]');
    const points = await drawn.evaluateAll((all) => all.map((line) => line.getAttribute('points') ?? ''));
    return points.filter((line) => line.trim().includes(' ')).length;
  };
  const drawn = async (number: number) => {
    while ((await lines()) < number) await setTimeout(100);
    return lines();
  };
  assert.equal(await drawn(1), 1);

  await tab.clock.pauseAt(Date.now() + 1_000);
  const requests: string[] = [];
  tab.on('request', (sent) => requests.push(sent.url()));
  create('order-6');
  await setTimeout(ASLEEP);
  assert.deepEqual(requests, [], 'a sleeping tab reads nothing');
  await tab.clock.fastForward(5 * 60_000);
  await tab.clock.resume();
  await tab.getByRole('heading', { name: 'Pending tasks: 6', exact: true }).waitFor();
  assert.equal(await drawn(2), 2, 'the line breaks for the time of the sleep');
  assert.equal(await tab.locator('#connection').innerText(), '');
  await other.close();
});

test('failed tasks are grouped by error, with payload and timeline', async () => {
  await page.getByRole('link', { name: 'Errors' }).click();
  const groups = page.locator('section.failure');
  assert.equal(await groups.count(), 2);
  const largest = groups.first();
  assert.equal(await largest.locator('h2').innerText(), 'HTTP 502 from the gateway');
  assert.match(await largest.innerText(), /Tasks read: 3/);
  assert.equal(await groups.nth(1).locator('h2').innerText(), 'HTTP 400 <b>no such order</b>');
  await largest.getByText('The newest one').click();
  assert.match(await largest.locator('pre').innerText(), /"order": 4712/);
  assert.match(
    await largest.locator('.timeline').innerText(),
    /created[\s\S]*failed, \S+ after its creation[\s\S]*deleted by DynamoDB/,
  );
  await largest.getByRole('link', { name: 'List' }).click();
  assert.equal(await page.locator('tbody tr').count(), 3);
  assert.match(await page.locator('tbody tr').first().innerText(), /\{"order":4712\}$/);
  await page.getByRole('link', { name: 'failed-1' }).click();
  assert.match(await page.locator('dl').innerText(), /lastError\s+HTTP 502 from the gateway/);
});

test('a group and a single task are each redriven after a confirmation', async () => {
  await page.goto(`${CONSOLE}errors`);
  const group = page.locator('section.failure', { hasText: 'HTTP 502' });
  await group.getByRole('link', { name: 'Redrive…' }).click();
  await shows(/tasks to redrive: 3/);
  await page.getByRole('link', { name: 'Go back' }).click();
  assert.equal(await page.locator('section.failure').count(), 2, 'going back changes nothing');
  await group.getByRole('link', { name: 'Redrive…' }).click();
  await confirm('Redrive', 'redriven: 3');
  assert.match(await group.innerText(), /\(PENDING 3\)/, 'they keep their last error until they run');
  await page.goto(`${CONSOLE}task?id=failed-4`);
  await page.getByRole('link', { name: 'Redrive…' }).click();
  await confirm('Redrive', 'failed-4  redriven');
});

test('a pending task is cancelled after a confirmation', async () => {
  await page.goto(`${CONSOLE}task?id=order-3`);
  await page.getByRole('link', { name: 'Cancel…' }).click();
  await shows(/Delete the pending task order-3/);
  await confirm('Cancel the task', 'order-3  cancelled');
  await page.goto(`${CONSOLE}task?id=order-3`);
  await shows(/task order-3 does not exist/);
});

test('the page follows the color scheme of the system', async () => {
  await page.goto(CONSOLE);
  const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  // Waits for a few updates, after which the charts have lines.
  await page.locator('#charts polyline').nth(2).waitFor({ state: 'attached' });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const bright = Number(/\d+/.exec(await background())?.[0]) > 127;
    assert.equal(bright, colorScheme === 'light', await background());
  }
  await page.emulateMedia({ colorScheme: 'light' });
});

test('after a resume, the page shows that tasks run', async () => {
  await page.getByRole('link', { name: 'Resume…' }).click();
  await confirm('Resume', 'resumed');
  await heading('Pending tasks: 0');
  assert.equal(await fact('paused').innerText(), 'no');
  await heading('Running tasks: 0');
  await page.goto(`${CONSOLE}task?id=order-1`);
  assert.match(await page.locator('dl').innerText(), /taskStatus\s+SUCCESS/);
});

test('screenshots for the documentation', { skip: !SCREENSHOTS }, async () => {
  // This size shows two full rows of charts.
  await page.setViewportSize({ width: 1180, height: 960 });
  await page.goto(CONSOLE);
  // Creates bursts for a minute to fill the charts.
  for (const burst of [60, 20, 90, 20, 40, 120, 20, 60, 90]) {
    freshq('create', '--simulate', `${burst}`);
    await page.waitForTimeout(6_000);
  }
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(SCREENSHOTS ?? '', `console-${colorScheme}.png`) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
});

test('the Doctor page shows a message in a dead-letter queue, with the remedy', async () => {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Doctor' }).click();
  await shows(/(Settings checked|Checks of the state): \d+, findings: \d+/);
  await page
    .locator('section.failure', { hasText: 'it contains 1 message' })
    .getByText('freshq messages')
    .waitFor();
});

test('the Agents page shows queues, pending calls and agents', async () => {
  await page.getByRole('link', { name: 'Agents' }).click();
  const row = (text: string) => page.locator('tr', { hasText: text });
  assert.match(await row('Basque').first().innerText(), /Basque, M\s+1/);
  assert.match(await row('Basque').last().innerText(), /^\S+\s+Basque, M\s+\d/);
  assert.match(await row('Ana Ruiz').innerText(), /ana\s+Ana Ruiz\s+queued/);
  assert.match(await row('Spanish, F').first().innerText(), /1$/);
});

test('the console works without JavaScript', async () => {
  const plain = await browser.browser()?.newContext({ javaScriptEnabled: false });
  assert.ok(plain, 'the browser has further contexts');
  const still = await plain.newPage();
  await still.goto(CONSOLE);
  await still.getByRole('link', { name: 'Pause…' }).click();
  await still.getByLabel('Reason, for other operators').fill('without script');
  await still.getByRole('button', { name: 'Pause' }).click();
  await still.getByText('The queue is paused until').waitFor();
  await still.getByRole('link', { name: 'Resume…' }).click();
  await still.getByRole('button', { name: 'Resume' }).click();
  await still.getByText('resumed: ').waitFor();
  assert.equal(await still.getByText('The queue is paused until').count(), 0);
  await plain.close();
});

test('a read-only console offers no changes and rejects change requests', async () => {
  for (const path of ['', 'errors', 'task?id=failed-5']) {
    await page.goto(`${READ_ONLY}${path}`);
    await shows('read-only');
    assert.equal(
      await page.locator('form[method=post], a.button:not(:text-matches("^List "))').count(),
      0,
      path,
    );
  }
  const posted = await page.evaluate<number>(
    `fetch('redrive', { method: 'POST', body: new URLSearchParams({ all: '1', ttl: '1h' }) }).then((response) => response.status)`,
  );
  assert.equal(posted, 403);
  errors.length = 0; // The browser logs the 403 status as an error.
});

test('requests from other pages and hosts are rejected', async () => {
  const { origin, port } = new URL(CONSOLE);
  const foreign = await request.newContext();
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const response = await foreign.get(url, { headers });
    return `${response.status()} ${await response.text()}`;
  };
  assert.match(await get(`${origin}/`), /^403 .*valid token/);
  assert.match(await get(`${origin}/00000000000000000000000000000000/`), /^403 .*valid token/);
  assert.match(await get(CONSOLE, { host: `evil.example:${port}` }), /^403 .*Host/);
  assert.match(await get(CONSOLE, { origin: 'http://evil.example' }), /^403 .*another web page/);
  const pause = { form: { for: '1h', reason: 'foreign' } };
  const origins: Record<string, string>[] = [{}, { origin: 'http://evil.example' }, { origin: 'null' }];
  for (const headers of origins) {
    const response = await foreign.post(`${CONSOLE}pause`, { ...pause, headers });
    assert.equal(response.status(), 403);
  }
  await foreign.dispose();

  // Repeats the attack in the browser. A page from another origin knows the address and submits the form.
  const other = await browser.newPage();
  await other.route('http://evil.example/', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<form method="post" action="${CONSOLE}pause"><input name="for" value="1h"><input name="reason" value="foreign"><button>go</button></form>`,
    }),
  );
  await other.goto('http://evil.example/');
  await other.getByRole('button').click();
  await other.getByText('403: another web page sent this request').waitFor();
  await other.close();
  assert.match(freshq('status'), /paused +no\n/);
});

test('no page violated its content security policy or had a script error', () => {
  assert.deepEqual(errors, []);
});
