import { expect, test } from 'vitest'
import { type Authentication, AuthenticatorChain } from './authenticator.ts'

const ANN: Authentication = { user: { name: 'ann', groups: [] } }
const BOB: Authentication = { user: { name: 'bob', groups: [] } }
const REJECTED: Authentication = { rejected: 'it has expired' }

test.each<[string, readonly (Authentication | undefined)[], Authentication | undefined]>([
  ['the first user', [ANN, BOB], ANN],
  ['the first that knows them', [undefined, BOB, ANN], BOB],
  ['a rejection, although another one accepts them', [REJECTED, ANN], REJECTED],
  ['a rejection behind one that does not know them', [undefined, REJECTED, ANN], REJECTED],
  ['none where none knows them', [undefined, undefined], undefined],
  ['none without authenticators', [], undefined],
])('credentials are decided by %s', async (_what, answers, expected) => {
  const chain = new AuthenticatorChain(
    answers.map((answer) => ({ authenticate: () => Promise.resolve(answer) })),
  )
  expect(await chain.authenticate({ bearerToken: 'x' })).toEqual(expected)
})
