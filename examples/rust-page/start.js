import start from './rust_page.js'

await start()
