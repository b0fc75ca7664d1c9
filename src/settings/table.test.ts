import { expect, test } from 'vitest'
import { SERVER_TABLE } from './testing/server.ts'

test('sections are what holds fields, own or ignored, and is none', () => {
  expect([...SERVER_TABLE.sections]).toEqual(['listen', 'listen.tls'])
})

test('fields keep their order, and are found by path', () => {
  const paths = SERVER_TABLE.entries.map(([path]) => path)
  expect(paths).toEqual([
    'role',
    'listen.address',
    'listen.timeout',
    'listen.tls.required',
    'clients',
  ])
  expect(SERVER_TABLE.byPath.get('listen.timeout')?.flag).toBe('timeout')
  expect(SERVER_TABLE.byPath.get('constructor')).toBeUndefined()
})
