// @vitest-environment jsdom
import { expect, test } from 'vitest'
import { use } from './use.mjs'

test('the package in a test of a page', async () => {
  expect(document.body).toBeTruthy()
  expect(await use()).toBe(process.env.EXPECTED)
})
