import { Agent, type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { valueAt } from '../../lib/json.ts'
import { startIdentityApi } from '../testing/identity-api.ts'

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const SELF = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const TOKEN_REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
/** Seconds; what `tokenFor` requests. */
const LIFE = 600

/** The time passes by hand, at a whole second in the beginning. */
function clockByHand() {
  let now = Math.ceil(Date.now() / 1000) * 1000
  return {
    clock: { ...systemClock, now: () => now },
    pass: (milliseconds: number) => {
      now += milliseconds
    },
  }
}

/** Sends reviews over one connection, and says of each what was answered and by which local port. */
function keptConnection(url: string, token: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async (): Promise<{ readonly status: number; readonly port: number }> => {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(`${url}${SELF}`, { method: 'POST', agent, headers }, resolve)
      sent.on('error', reject).end('{}')
    })
    const port = answer.socket.localPort!
    await json(answer)
    return { status: answer.statusCode!, port }
  }
}

test('an expired token is refused from the moment on, also over a connection that it opened', async () => {
  const { clock, pass } = clockByHand()
  const api = await startIdentityApi([], { clock })
  await api.make(ACCOUNTS, { metadata: { name: 'builder' } })
  const token = await api.tokenFor('default', 'builder')
  const send = keptConnection(api.url, token)
  const reviewed = async (): Promise<unknown> => {
    const { body } = await api.as('root', 'POST', TOKEN_REVIEWS, { body: { spec: { token } } })
    return valueAt(body, 'status', 'authenticated') ?? false
  }
  const { status, port } = await send()
  expect(status).toBe(201)
  pass(LIFE * 1000 - 1)
  expect(await send()).toEqual({ status: 201, port })
  expect(await reviewed()).toBe(true)
  pass(1)
  expect(await send()).toEqual({ status: 401, port })
  expect(await reviewed()).toBe(false)
})

test('accepted tokens are counted by the key that signed them, so that one without use can be removed', async () => {
  const api = await startIdentityApi()
  await api.make(ACCOUNTS, { metadata: { name: 'builder' } })
  const token = await api.tokenFor('default', 'builder')
  const counted = async (): Promise<readonly string[]> => {
    const { text } = await api.as('root', 'GET', '/metrics')
    return text.split('\n').filter((line) => /^\w+account_token_requests_total/.test(line))
  }
  expect(await counted()).toEqual([])
  await api.as(token, 'GET', '/api')
  await api.as(token, 'GET', '/api')
  await api.as(`${token}x`, 'GET', '/api')
  const name = 'apiserver_account_token_requests_total'
  expect(await counted()).toEqual([`${name}{key_id="${api.key.id}"} 2`])
})
