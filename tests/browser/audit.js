// The page of `lockstep audit` in a browser: narrow and wide, light and dark, without a request or a script.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const WRITE = process.argv.includes('--write');
const FOLDER = fs.mkdtempSync(path.join(os.tmpdir(), 'lockstep-audit-'));
const IMAGES = WRITE ? path.join(HERE, '..', '..', 'docs', 'images') : FOLDER;
const LEAST_CONTRAST = 4.5;
const say = (text) => console.log(`browser: ${text}`);

/** What is too wide, in pixels beyond the screen: all but what scrolls inside of its own box. */
function overflow() {
  return document.documentElement.scrollWidth - document.documentElement.clientWidth;
}

/** The least contrast between text and ground of the page (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio). */
function contrast() {
  const light = (colour) => {
    const parts = colour.match(/\d+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const ground = light(getComputedStyle(document.body).backgroundColor);
  const ratios = [...document.querySelectorAll('h1, h2, h3, p, td, th, dt, dd, a, li, .axis span')].map((element) => {
    const [low, high] = [light(getComputedStyle(element).color), ground].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
  return Math.min(...ratios);
}

async function look(page, width, scheme) {
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  assert.ok(await page.evaluate(overflow) <= 0, `${width} px ${scheme}: ${await page.evaluate(overflow)} px too wide`);
  const least = await page.evaluate(contrast);
  assert.ok(least >= LEAST_CONTRAST, `${width} px ${scheme}: a contrast of ${least.toFixed(1)}`);
  await page.screenshot({ path: path.join(FOLDER, `audit-${width}-${scheme}.png`), fullPage: true });
}

const printed = execFileSync(path.join(HERE, '..', 'audit', 'example'), [FOLDER, ...(WRITE ? ['--write'] : [])]).toString();
assert.ok(printed.split('\n').every((line) => line.length <= 120), printed);
const browser = await puppeteer.launch({ executablePath: process.env.LOCKSTEP_CHROMIUM, args: ['--no-sandbox'] });
try {
  const page = await browser.newPage();
  const [requests, problems] = [[], []];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => problems.push(message.text()));
  await page.goto(`file://${path.join(FOLDER, 'audit.html')}`);
  for (const width of [390, 1280]) {
    for (const scheme of ['light', 'dark']) await look(page, width, scheme);
  }
  assert.equal(requests.length, 1, `${requests}`);
  assert.deepEqual(problems, []);
  const bars = await page.$$eval('.moment .bar', (found) => found.map((bar) => bar.getBoundingClientRect().height));
  assert.ok(bars.length > 20 && bars.every((height) => height > 5), `${bars.length} bars`);
  assert.ok(await page.$$eval('.moment .tick', (found) => found.length) > 0, 'no tick');
  say(`the page of an audit with ${bars.length} bars, at 390 and 1,280 px, light and dark: ${FOLDER}`);
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
  await page.setViewport({ width: 1000, height: 830 });
  const image = path.join(IMAGES, 'audit.png');
  await page.screenshot({ path: image });
  const kilobytes = Math.ceil(fs.statSync(image).size / 1024);
  assert.ok(kilobytes < 150, `${image}: ${kilobytes} KB`);
} finally {
  await browser.close();
}
