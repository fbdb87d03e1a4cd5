// What the chat can do else is tested in tests/chat.
import { chat } from './chat.mjs'

chat(import.meta)
