// Runs inside the page, in a browser that no protocol drives: the main path of each view, by clicks on
// its elements. Tells what it found by a request.
const PATIENCE_MS = 120_000
const wrong = []
addEventListener('error', ({ message }) => wrong.push(message))
addEventListener('unhandledrejection', ({ reason }) => wrong.push(String(reason)))
addEventListener('securitypolicyviolation', (event) => wrong.push(`refused: ${event.blockedURI}`))

const one = (selector) => document.querySelector(selector)
async function until(condition) {
  for (let waited = 0; waited < PATIENCE_MS; waited += 20) {
    if (await condition()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`never: ${condition}`)
}
const says = (selector, form) => until(() => form.test(one(selector)?.textContent ?? ''))
const click = async (selector) => {
  await until(() => one(selector) && !one(selector).disabled)
  one(selector).click()
}
async function go(view) {
  await click(`#views a[href="#${view}"]`)
  // The address changes later.
  await until(() => !one(`#${view}`).hidden)
}
const preset = (name) =>
  [...document.querySelectorAll('#presets button')].find((each) => each.textContent === name)

const BEFORE = {
  async race() {
    await says('#race-plain-verdict', /No answer/)
    await says('#race-staged-verdict', /Answered/)
    return [one('#race-plain-models').textContent, one('#race-staged-models').textContent].join()
  },
  async doctor() {
    await go('doctor')
    await says('#loops-verdict', /\d times/)
    await click('#loops-replay')
    await says('#replay-said', /^complete/)
    one('#replay-at').value = 0
    one('#replay-at').dispatchEvent(new Event('input'))
    return JSON.parse(one('#replay-json').textContent).type
  },
  async bundle() {
    await go('bundle')
    await says('#bundle-outcome', /ran/)
    return one('#agreement').rows.length > 1
  },
  async planner() {
    await go('planner')
    await says('#ask-outcome', /3 calls/)
    return JSON.parse(one('#ask-plan').textContent).action
  },
  async chain() {
    await go('chain')
    await says('#chain-status', /complete/)
    return one('#chain-answer').textContent.length > 0
  },
  async share() {
    await click('#share')
    // Without a click of a person no page writes to the clipboard: then it is in the address.
    await says('#shared', /Link copied|See the address/)
    return true
  },
  async dock() {
    await click('#dock-toggle')
    await until(() => one('#dock-rows [role=option]'))
    one('#dock-rows [role=option]').click()
    return typeof JSON.parse(one('#dock-json').textContent)
  },
  async turn() {
    await go('turn')
    preset('A model that loops').click()
    await says('#timeline', /Complete/)
    const { textContent } = one('.message.assistant')
    preset('Pause, then resume').click()
    await until(() => one('#decision .primary') && !one('#decision').hidden)
    return /notes\.txt/.test(textContent)
  },
}

const AFTER = {
  async resumed() {
    await until(() => one('#decision .primary') && !one('#decision').hidden)
    one('#decision .primary').click()
    await says('#timeline', /Complete/)
    return /notes\.txt/.test(one('.message.assistant').textContent)
  },
}

const found = JSON.parse(sessionStorage.getItem('found') ?? '{}')
const isBefore = !sessionStorage.getItem('found')
try {
  await until(() => document.documentElement.dataset.ready)
  for (const [name, path] of Object.entries(isBefore ? BEFORE : AFTER)) found[name] = await path()
} catch (error) {
  wrong.push(String(error))
}
found.wrong = [...(found.wrong ?? []), ...wrong]
if (isBefore && !wrong.length) {
  sessionStorage.setItem('found', JSON.stringify(found))
  location.reload()
} else {
  await fetch('./found', { method: 'POST', body: JSON.stringify(found) })
}
