'use client'
import { useEffect, useState } from 'react'
import { use } from '@/use.mjs'

export default function Page() {
  const [ends, setEnds] = useState('')
  useEffect(() => {
    use().then(setEnds, (error) => setEnds(String(error)))
  }, [])
  return <p id="ends">{ends}</p>
}
