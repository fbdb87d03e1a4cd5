import { defineConfig } from 'vite'

/** The page asks `/api/v1`; the key is added here and never reaches it. Your server does the same. */
const { BASE_URL = 'https://api.openai.com/v1', OPENAI_API_KEY } = process.env

const proxy = {
  '/api/v1': {
    target: BASE_URL,
    changeOrigin: true,
    rewrite: (path) => path.slice('/api/v1'.length),
    headers: OPENAI_API_KEY ? { authorization: `Bearer ${OPENAI_API_KEY}` } : {},
  },
}

export default defineConfig({ server: { proxy }, preview: { proxy } })
