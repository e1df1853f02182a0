// The console's side of a custom widget, as AWS documents it: what is invoked with which event, what is removed from
// the HTML, and what a cwdb-action does. `invoke` comes from the test.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_interactivity.html
/* global DOMPurify, invoke */
'use strict';

const SANITISED = {
  ADD_TAGS: ['cwdb-action'],
  ADD_ATTR: ['action', 'confirmation', 'display', 'endpoint', 'event'],
  ADD_URI_SAFE_ATTR: ['endpoint'],
  FORBID_TAGS: ['iframe', 'script', 'use'],
  // A style element at the start stays where it is.
  FORCE_BODY: true,
};

const host = { theme: 'light', removed: [], pages: 0, milliseconds: {} };

function forms(widget) {
  const fields = [...widget.querySelectorAll('input[name], select[name], textarea[name]')];
  return { all: Object.fromEntries(fields.map((field) => [field.name, field.value])) };
}

function context(widget) {
  return {
    dashboardName: 'lockstep-eu-west-1',
    widgetId: 'widget-1',
    accountId: '000000000000',
    locale: 'en',
    timezone: { label: 'UTC', offsetISO: '+00:00', offsetInMinutes: 0 },
    period: 300,
    isAutoPeriod: true,
    timeRange: { mode: 'relative', start: Date.now() - 3600000, end: Date.now(), relativeStart: 3600000 },
    theme: host.theme,
    linkCharts: true,
    title: 'Locks',
    forms: forms(widget),
    params: { page: 'list' },
    width: widget.clientWidth,
    height: widget.clientHeight,
  };
}

async function call(endpoint, parameters) {
  const widget = document.getElementById('widget');
  const begin = performance.now();
  const answer = await invoke(endpoint, { ...parameters, widgetContext: context(widget) });
  const called = performance.now();
  show(widget, answer);
  widget.getBoundingClientRect();
  host.milliseconds = { invoked: called - begin, shown: performance.now() - called };
  host.pages += 1;
}

function show(widget, html) {
  widget.innerHTML = DOMPurify.sanitize(html, SANITISED);
  // `remove` is what FORCE_BODY puts in front.
  const removed = DOMPurify.removed.filter((one) => one.element?.localName !== 'remove');
  host.removed.push(...removed.map((one) => one.element?.outerHTML ?? `${one.attribute?.name}="${one.attribute?.value}"`));
  for (const action of widget.querySelectorAll('cwdb-action[action=call]')) {
    action.previousElementSibling.addEventListener(action.getAttribute('event') ?? 'click', () => {
      const question = action.getAttribute('confirmation');
      if (!question || window.confirm(question)) {
        call(action.getAttribute('endpoint'), JSON.parse(action.textContent || '{}'));
      }
    });
  }
}

window.host = host;
window.call = call;
