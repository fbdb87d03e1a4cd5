// Debian's Chromium, driven by playwright-core.
import { createRequire } from 'node:module'
import { CHROMIUM, ENGINE, first } from '../scripts/setup.mjs'
import { PATIENCE_MS } from './patience.mjs'

// An `import` reads its seven megabytes once more, for the names that they export.
const { chromium } = createRequire(import.meta.url)('playwright-core')

/**
 * What Chromium does not do here. The last list given counts, so this one repeats what playwright-core
 * switches off. The two popups are pages of the browser itself: each window loads them, and that takes
 * as much processor time as the page that is tested.
 */
const WITHOUT = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'LensOverlay',
  'MediaRouter',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'PaintHolding',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'PreconnectToSearch',
]

export const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  `--disable-features=${WITHOUT}`,
]

export const executablePath = first(CHROMIUM)
const start = (executablePath) =>
  chromium.launch({ executablePath, args: FLAGS, timeout: PATIENCE_MS })

export const launch = () => start(executablePath)

/**
 * The same engine, of the same source and version, without windows and profiles: for tests that open
 * a page each. A page costs half of the processor time, since no window is made and drawn for it.
 */
export const launchEngine = () => start(first([ENGINE, ...CHROMIUM]))

/** Notes what the console of a page complains of, and errors that nothing catches. */
export function hear(page, complain) {
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complain(message.text())
  })
  page.on('pageerror', (error) => complain(String(error)))
}
