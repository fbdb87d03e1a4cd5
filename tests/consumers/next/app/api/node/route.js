import { use } from '@/use.mjs'

export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'

export const GET = async () => new Response(await use())
