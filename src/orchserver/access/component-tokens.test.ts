import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { controllerUser, createComponentTokens, nodeAgentUser } from './component-tokens.ts'

const ENDPOINTS = controllerUser('endpoint-controller')
const NODE = nodeAgentUser('n1')

test('each user has a token of its own, by which it is known with its groups', async () => {
  const { tokenFor, authenticator } = createComponentTokens()
  const tokens = [tokenFor(ENDPOINTS), tokenFor(NODE)]
  expect(new Set(tokens).size).toBe(2)
  expect(tokenFor(controllerUser('endpoint-controller'))).toBe(tokens[0])
  const found = tokens.map((bearerToken) => authenticator.authenticate({ bearerToken }))
  expect(await Promise.all(found)).toEqual([
    {
      user: {
        name: 'system:serviceaccount:kube-system:endpoint-controller',
        groups: [
          'system:serviceaccounts',
          'system:serviceaccounts:kube-system',
          'system:authenticated',
        ],
      },
    },
    { user: { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] } },
  ])
})

test('no part of a hash is enough', async () => {
  const { tokenFor, authenticator } = createComponentTokens()
  tokenFor(NODE)
  const attempts = Array.from({ length: 4096 }, (_, index) =>
    authenticator.authenticate({ bearerToken: `guess-${index}` }),
  )
  expect((await Promise.all(attempts)).filter((found) => found !== undefined)).toEqual([])
})

test('a token has 256 random bits', () => {
  const token = createComponentTokens().tokenFor(NODE)
  expect(Buffer.from(token, 'base64url')).toHaveLength(32)
  expect(token).not.toBe(createComponentTokens().tokenFor(NODE))
})

test('nothing but the token itself is accepted, and no token of another server', async () => {
  const { tokenFor, authenticator } = createComponentTokens()
  const token = tokenFor(NODE)
  const other = createComponentTokens().tokenFor(NODE)
  const wrong = [
    '',
    'system:node:n1',
    token.slice(1),
    `${token}=`,
    ` ${token}`,
    token.toLowerCase(),
  ]
  for (const bearerToken of [...wrong, `${token}A`, other]) {
    expect(await authenticator.authenticate({ bearerToken })).toBeUndefined()
  }
  expect(await authenticator.authenticate({})).toBeUndefined()
  const certificate = { commonNames: ['system:node:n1'], organizations: ['system:nodes'] }
  expect(await authenticator.authenticate({ certificate })).toBeUndefined()
})

test('no log of the value shows a token', () => {
  const tokens = createComponentTokens()
  const token = tokens.tokenFor(NODE)
  expect(inspect(tokens, { depth: 10, showHidden: true })).not.toContain(token)
  expect(JSON.stringify(tokens)).not.toContain(token)
})
