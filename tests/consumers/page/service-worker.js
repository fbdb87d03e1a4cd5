import { use } from './use.mjs'

addEventListener('install', () => skipWaiting())
addEventListener('activate', (event) => event.waitUntil(clients.claim()))
addEventListener('message', async ({ source }) => source.postMessage(await use().catch(String)))
