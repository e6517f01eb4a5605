// Fetches the page again at each interval and replaces its live parts. Without this script, reload the page.
const every = Number(document.body.dataset.every);
const connection = document.getElementById('connection');
const live = () => document.querySelectorAll('[data-live]');

function replace(old, fresh) {
  if (!fresh || fresh.innerHTML === old.innerHTML) return;
  const focused = old.contains(document.activeElement) ? document.activeElement : undefined;
  const key = focused?.getAttribute('href') ?? focused?.getAttribute('aria-label');
  old.replaceChildren(...fresh.childNodes);
  if (!key) return;
  const same = (element) => [element.getAttribute('href'), element.getAttribute('aria-label')].includes(key);
  [...old.querySelectorAll('a, [tabindex]')].find(same)?.focus({ preventScroll: true });
}

function say(text) {
  if (connection.textContent !== text) connection.textContent = text;
}

async function look() {
  try {
    const answer = await fetch(location.href, { cache: 'no-store' });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`freshq responded with status ${answer.status}`);
    const page = new DOMParser().parseFromString(text, 'text/html');
    document.title = page.title;
    for (const part of live()) replace(part, page.getElementById(part.id));
    say('');
  } catch (error) {
    say(`This page is not up to date: ${error.message}. Is freshq console still running?`);
  }
}

async function go() {
  // A hidden page fetches nothing.
  if (!document.hidden) await look();
  setTimeout(go, every);
}

if (live().length > 0) setTimeout(go, every);
