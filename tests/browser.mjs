// Debian's Chromium, driven by playwright-core.
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { PATIENCE_MS } from './patience.mjs'

/**
 * What Chromium does not do here. The last list given counts, so this one repeats what playwright-core
 * switches off. The two popups are pages of the browser itself: each window loads them, and that takes
 * as much processor time as the page that is tested.
 */
const WITHOUT = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'AimEnabled', 'LensOverlay', 'MediaRouter'],
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'PaintHolding'],
  ...['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable', 'ThirdPartyStoragePartitioning'],
  ...['AvoidCorsURLLoaderRestartOnRedirect', 'OptimizationHints', 'NetworkTimeServiceQuerying'],
  'PreconnectToSearch',
]

export const FLAGS = [
  ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ...['--no-first-run', `--disable-features=${WITHOUT}`],
]

const first = (...places) => places.find((place) => existsSync(place))
/** The browser with its windows. */
export const executablePath = first(
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
)
/** The same engine, of the same source and version, without windows, tabs and profiles. */
const shell = first('/usr/bin/chromium-headless-shell')

/**
 * Chromium. Without `whole` it is the engine alone, where that is installed: a page costs it half
 * of the processor time, since no window is made and drawn for it.
 */
export function launch({ whole = false } = {}) {
  const path = (!whole && shell) || executablePath
  return chromium.launch({
    ...{ ...(path && { executablePath: path }), args: FLAGS, timeout: PATIENCE_MS },
  })
}
