import start from './rust_leptos.js'

await start()
