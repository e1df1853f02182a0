// The page in a browser: list, filter, detail, a pause by click, an injected note, 500 locks.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';
import { invoke, many, prepare, state, VIEW } from './stack.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const HOST = `file://${path.join(HERE, 'host.html')}`;
const IMAGES = process.argv.includes('--write')
  ? path.join(HERE, '..', '..', 'docs', 'images')
  : fs.mkdtempSync(path.join(os.tmpdir(), 'lockstep-page-'));
const INJECTED = '<script>alert(1)</script><img src=x onerror="alert(2)">';
const MANY = 500;
// Other tests may have left locks in the stack.
const BATCHES = { page: 'list', prefix: 'batches/' };

const begun = Date.now();
const say = (text) => console.log(`browser: ${text}`);

/** The console with the widget in it. What it asks, requests and logs is kept. */
class Dashboard {
  constructor(page) {
    Object.assign(this, { page, questions: [], requests: [], problems: [] });
  }

  static async open(browser) {
    const page = await browser.newPage();
    const dashboard = new Dashboard(page);
    await page.setViewport({ width: 1240, height: 900 });
    await page.exposeFunction('invoke', invoke);
    page.on('dialog', async (dialog) => {
      dashboard.questions.push(`${dialog.type()}: ${dialog.message()}`);
      await dialog.accept();
    });
    page.on('request', (request) => dashboard.requests.push(request.url()));
    page.on('pageerror', (error) => dashboard.problems.push(error.message));
    page.on('console', (message) => dashboard.problems.push(message.text()));
    await page.goto(HOST);
    return dashboard;
  }

  /** Waits for the page that `act` leads to. */
  async next(act) {
    const before = await this.page.evaluate(() => window.host.pages);
    await act();
    await this.page.waitForFunction((pages) => window.host.pages > pages, { timeout: 30000 }, before);
  }

  load(theme, parameters = {}) {
    return this.next(() => this.page.evaluate((theme, endpoint, parameters) => {
      window.host.theme = theme;
      document.body.className = theme;
      window.call(endpoint, parameters);
    }, theme, VIEW, parameters));
  }

  click(label) {
    return this.next(async () => {
      const [element] = await this.page.$$(`xpath/.//a[normalize-space()="${label}"]`);
      assert.ok(element, `no link ${label}`);
      await element.click();
    });
  }

  async type(name, text) {
    const field = await this.page.$(`#widget [name="${name}"]`);
    assert.ok(field, `no field ${name}`);
    await field.evaluate((element) => { element.value = ''; });
    await field.type(text);
  }

  text() {
    return this.page.$eval('#widget', (widget) => widget.innerText);
  }

  count(selector) {
    return this.page.$$eval(`#widget ${selector}`, (found) => found.length);
  }

  async shoot(name, folder = IMAGES) {
    const file = path.join(folder, `${name}.png`);
    const widget = await this.page.$('#widget');
    await widget.screenshot({ path: file });
    const kilobytes = Math.ceil(fs.statSync(file).size / 1024);
    assert.ok(kilobytes < 150, `${file}: ${kilobytes} KB`);
    say(`${path.relative(process.cwd(), file)}, ${kilobytes} KB`);
  }
}

async function list(dashboard) {
  await dashboard.load('light', BATCHES);
  const text = await dashboard.text();
  for (const part of ['batches/billing', 'billing-eu and 1 more', '2 of 2', 'batches/etl/stock', 'database upgrade', 'idle']) {
    assert.ok(text.includes(part), `${part} is not in: ${text}`);
  }
  await dashboard.shoot('page-list-light');
  await dashboard.load('dark', BATCHES);
  const ground = await dashboard.page.$eval('.lockstep', (element) => getComputedStyle(element).backgroundColor);
  assert.equal(ground, 'rgb(15, 27, 42)');
  await dashboard.shoot('page-list-dark');
  say('the list, light and dark');
}

async function filter(dashboard) {
  await dashboard.load('light');
  await dashboard.type('namePrefix', 'batches/etl/');
  await dashboard.page.select('#widget select[name=state]', 'paused');
  await dashboard.click('Show');
  assert.equal(await dashboard.count('tbody tr'), 2);
  say('the list, by prefix and state');
}

async function injected(dashboard) {
  const text = await dashboard.text();
  assert.ok(text.includes(INJECTED), `the note is not shown as text: ${text}`);
  assert.equal(await dashboard.count('script') + await dashboard.count('img'), 0);
  await dashboard.click('batches/etl/injected');
  assert.ok((await dashboard.text()).includes(INJECTED));
  say('an injected note shows as text');
}

async function detail(dashboard) {
  await dashboard.load('light', BATCHES);
  await dashboard.click('batches/billing');
  const text = await dashboard.text();
  for (const part of ['Holders (2 of 2 permits)', 'billing-us', 'succeeded', 'failed', 'Timeline']) {
    assert.ok(text.includes(part), `${part} is not in: ${text}`);
  }
  const bars = await dashboard.page.$$eval('#widget svg rect', (found) => found.map((one) => one.getBoundingClientRect().width));
  assert.equal(bars.length, 1 + 4 + 2);
  assert.ok(bars.every((width) => width > 0), `${bars}`);
  await dashboard.shoot('page-lock');
  say('one lock');
}

/** On a phone the page stays as wide as the screen: what is wider scrolls in its own frame. */
async function narrow(dashboard) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lockstep-narrow-'));
  await dashboard.page.setViewport({ width: 390, height: 844 });
  for (const theme of ['light', 'dark']) {
    for (const [name, page] of [['list', BATCHES], ['lock', { page: 'lock', lock: 'batches/billing' }]]) {
      await dashboard.load(theme, page);
      const width = await dashboard.page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 390, `${name}, ${theme}: ${width} pixels wide`);
      await dashboard.shoot(`${name}-${theme}`, folder);
    }
  }
  await dashboard.page.setViewport({ width: 1240, height: 900 });
  say('the list and one lock on a screen of 390 pixels');
}

async function clicks(dashboard) {
  await dashboard.load('light', { page: 'lock', lock: 'batches/nightly-report' });
  await dashboard.click('Pause');
  assert.match(await dashboard.text(), /Lockstep\.InvalidRequest field actor is ""/);
  assert.equal(await state('batches/nightly-report'), 'held');
  await dashboard.type('actor', 'jo@example.com');
  await dashboard.type('note', 'database "upgrade" <b>');
  await dashboard.click('Pause');
  assert.match(await dashboard.text(), /Lock batches\/nightly-report is paused/);
  assert.equal(await state('batches/nightly-report'), 'paused');
  await dashboard.click('Evict');
  assert.match(await dashboard.text(), /Lockstep\.LockHeld/);
  await dashboard.click('Resume');
  assert.match(await dashboard.text(), /Lock batches\/nightly-report is open/);
  assert.equal(await state('batches/nightly-report'), 'held');
  assert.equal(dashboard.questions.length, 4);
  assert.ok(dashboard.questions.every((question) => question.startsWith('confirm: ')), `${dashboard.questions}`);
  say('refused without a name; paused, an eviction refused, and resumed by click, each after a question');
}

async function fiveHundred(dashboard) {
  await many('many/', MANY);
  await dashboard.load('light', { page: 'list', prefix: 'many/', limit: MANY });
  // The first call may have started the function's environments.
  await dashboard.load('light', { page: 'list', prefix: 'many/', limit: MANY });
  assert.equal(await dashboard.count('tbody tr'), MANY);
  const { invoked, shown } = await dashboard.page.evaluate(() => window.host.milliseconds);
  say(`${MANY} locks: ${Math.round(invoked)} ms for view, which reads each of them from the emulator; ${Math.round(shown)} ms in the browser`);
}

async function main() {
  const root = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const [browser] = await Promise.all([
    puppeteer.launch({ executablePath: process.env.LOCKSTEP_CHROMIUM, args: [...root, '--hide-scrollbars', '--disable-gpu'] }),
    prepare(INJECTED),
  ]);
  try {
    const dashboard = await Dashboard.open(browser);
    await list(dashboard);
    await filter(dashboard);
    await injected(dashboard);
    await detail(dashboard);
    await narrow(dashboard);
    await clicks(dashboard);
    await fiveHundred(dashboard);
    assert.deepEqual(dashboard.problems, []);
    assert.deepEqual(await dashboard.page.evaluate(() => window.host.removed), [], 'the sanitiser removes nothing');
    assert.deepEqual(dashboard.requests.filter((url) => !url.startsWith(`file://${HERE}/`)), [], 'no request leaves the page');
  } finally {
    await browser.close();
  }
  say(`passed in ${Math.round((Date.now() - begun) / 1000)} s`);
}

await main();
