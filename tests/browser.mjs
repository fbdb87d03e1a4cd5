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

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
export const executablePath = places.find((place) => existsSync(place))

export function launch() {
  const own = { ...(executablePath && { executablePath }), args: FLAGS }
  return chromium.launch({ ...own, timeout: PATIENCE_MS })
}
