import { expect, it } from 'vitest'
import { NodeProxyError } from '../../lib/error.ts'
import { parseKeyFile } from './key-file.ts'
import { keyLine } from './testing/key-files.ts'

const [A, B] = [keyLine('a'), keyLine('b')]

it('reads keys in their order, without comments, blank lines and spaces around', () => {
  const { keys, lost } = parseKeyFile('/f', `# first\n\n ${B}  \r\n${A}\n\n#${A}\nold.1_x-y:lost`)
  expect(keys.map(({ name, secret }) => `${name}:${secret.export().toString('base64')}`)).toEqual([
    B,
    A,
  ])
  expect([...lost]).toEqual(['old.1_x-y'])
})

const SECRET = A.slice(2)

it.each([
  ['', /^\/f has no key$/],
  ['# a comment', /has no key/],
  ['a:lost', /has no key/],
  [`${A}\n${SECRET}`, /line 2 has no name and colon/],
  [`#\n:${SECRET}`, /line 2 has an invalid name/],
  [`a b:${SECRET}`, /line 1 has an invalid name/],
  [`${'x'.repeat(65)}:${SECRET}`, /line 1 has an invalid name/],
  [`a: ${SECRET}`, /line 1 has a key that is not 32 bytes in Base64/],
  [`a:${SECRET.slice(1)}`, /line 1 has a key that is not 32 bytes/],
  [`a:${SECRET.slice(0, -1)}`, /line 1 has a key that is not 32 bytes/],
  [`a:${SECRET}${SECRET}`, /line 1 has a key that is not 32 bytes/],
  [`a:${Buffer.from(SECRET).toString('hex').slice(0, 64)}`, /line 1 has a key that is not 32/],
  [`a:${SECRET.slice(0, 42)}/=`, /line 1 has a key that is not 32 bytes/],
  [`a:${SECRET.slice(0, 42)}!=`, /line 1 has a key that is not 32 bytes/],
  [`a:${'A'.repeat(43)}=`, /line 1 has a key that is not random/],
  [`a:lost\n${A}`, /line 2 has the name "a" of line 1/],
  [`${A}\n${B}\n${keyLine('a', 'c')}`, /line 3 has the name "a" of line 1/],
])('refuses %j, and quotes no key', (text, message) => {
  const error = errorOf(() => parseKeyFile('/f', text))
  expect(error).toMatchObject({ code: 'NP_ORCHSERVER_ENCRYPTION_FILE', object: '/f' })
  expect(error.message).toMatch(message)
  expect(error.hint).toEqual(expect.any(String))
  expect(error.message + String(error.hint)).not.toContain(SECRET.slice(1, 20))
})

function errorOf(work: () => unknown): NodeProxyError {
  try {
    work()
  } catch (error) {
    if (error instanceof NodeProxyError) return error
  }
  return expect.unreachable('it was accepted')
}
