/**
 * The server of `turnlock serve`, apart from the command. The development server and the tests of the
 * repository import it from `dist/local-server.js`.
 */
export { createConversations } from './conversations.js'
export { createEdge, isEdgePath } from './edge.js'
export { pageFile } from './page.js'
export { CONTENT_TYPES, contentSecurityPolicy, fileHeaders } from './page-headers.js'
