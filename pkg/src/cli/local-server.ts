/**
 * The server of `turnlock serve`, apart from the command: the development server and the tests of the
 * repository import it from `dist/local-server.js`.
 */
export { createConversations } from './conversations.js'
export { createEdge, EDGE } from './edge.js'
export { pageFile } from './page.js'
export { behaviours, headersOf, policyOf, TYPES } from './page-headers.js'
