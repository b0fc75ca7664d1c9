import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, type Attacker, createAttacker, ended } from '../support/hostile/attacker.ts'
import { startBystander } from '../support/hostile/bystander.ts'
import { residentBytes } from '../support/hostile/resident-bytes.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

const DEFAULT = '/api/v1/namespaces/default'
const CONFIG_MAPS = `${DEFAULT}/configmaps`
const SERVICES = `${DEFAULT}/services`
const PODS = `${DEFAULT}/pods`
const MIB = 2 ** 20

const MERGE = 'application/merge-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const APPLY = 'application/apply-patch+yaml'

let server: OrchServerProcess
let attacker: Attacker

beforeAll(async () => {
  server = await startOrchServer({ flags: ['--watch-window-bytes=4194304'] })
  attacker = await createAttacker(server)
  const map = { metadata: { name: 'target' }, data: { a: '1' } }
  await attacker.call('POST', CONFIG_MAPS, { body: JSON.stringify(map) })
  const spec = { ports: [{ port: 80 }] }
  const service = { metadata: { name: 'target' }, spec }
  await attacker.call('POST', SERVICES, { body: JSON.stringify(service) })
})

afterAll(() => server[Symbol.asyncDispose]())

/** What the whole process may have at its most, the program itself included. */
const MAX_BYTES = 768 * MIB

/** Attacks while another client works undisturbed; the server then goes on. */
async function unnoticed(attack: () => Promise<unknown>): Promise<void> {
  const bystander = startBystander(server)
  const seen = await attack().then(
    () => bystander.stop(),
    async (error: unknown) => {
      await bystander.stop()
      throw error
    },
  )
  expect(seen).toEqual({ rounds: expect.toSatisfy((count: number) => count > 0), failures: [] })
  expect((await attacker.call('GET', `${CONFIG_MAPS}/target`)).status).toBe(200)
  expect((await residentBytes(server.pid!)).most).toBeLessThan(MAX_BYTES)
}

function patch(path: string, type: string, body: unknown): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return attacker.call('PATCH', path, { type, body: text })
}

function applied(yaml: string): Promise<Answer> {
  return patch(`${CONFIG_MAPS}/bomb?fieldManager=m`, APPLY, yaml)
}

function range<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

const BOMB = range(9, (level) =>
  level === 0
    ? 'a0: &a0 [x,x,x,x,x,x,x,x,x]'
    : `a${level}: &a${level} [${range(9, () => `*a${level - 1}`).join()}]`,
).join('\n')

test('documents that are small to send and large to work with', () =>
  unnoticed(async () => {
    const keyed = Object.fromEntries(range(49_000, (index) => [`k${index}`, '!']))
    const statuses = {
      brackets: (await attacker.call('POST', CONFIG_MAPS, { body: '['.repeat(200_000) })).status,
      aliases: (await applied(BOMB)).status,
      yaml: (await applied('['.repeat(200_000))).status,
      infinity: (await attacker.call('POST', CONFIG_MAPS, { body: '{"x":1e999}' })).status,
      items: (await attacker.call('POST', SERVICES, { body: `{"x":[${'0,'.repeat(1_000_000)}0]}` }))
        .status,
      ports: (
        await patch(`${SERVICES}/target`, STRATEGIC, {
          spec: { ports: range(20_000, (port) => ({ port })) },
        })
      ).status,
      order: (
        await patch(`${SERVICES}/target`, STRATEGIC, {
          spec: { '$setElementOrder/ports': range(20_000, (port) => ({ port })) },
        })
      ).status,
      finalizers: (
        await patch(`${CONFIG_MAPS}/target?dryRun=All`, STRATEGIC, {
          metadata: { finalizers: range(40_000, (index) => `x.io/a${index}`) },
        })
      ).status,
    }
    const wide = await attacker.call('POST', CONFIG_MAPS, {
      body: JSON.stringify({ metadata: { name: 'x', labels: keyed } }),
    })
    expect([wide.status, wide.text.length < MIB]).toEqual([422, true])
    expect(statuses).toEqual({
      brackets: 400,
      aliases: 400,
      yaml: 400,
      infinity: 400,
      items: 413,
      ports: 422,
      order: 200,
      finalizers: 200,
    })
  }))

test('JSON patches that shift, copy and move without end', () =>
  unnoticed(async () => {
    const list = { op: 'add', path: '/data/list', value: range(9_000, () => 0) }
    const repeated = (op: object) => [list, ...range(9_999, () => op)]
    for (const [operations, status] of [
      [range(10_001, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' })), 413],
      [repeated({ op: 'add', path: '/data/list/0', value: 0 }), 413],
      [repeated({ op: 'copy', from: '/data/list', path: '/data/list/-' }), 413],
      [repeated({ op: 'move', from: '/data/list/0', path: '/data/list/1' }), 413],
      [repeated({ op: 'move', from: '/data/a', path: '/data/a' }), 400],
    ] as const) {
      expect((await patch(`${CONFIG_MAPS}/target`, JSON_PATCH, operations)).status).toBe(status)
    }
  }))

test('keys that mean something to the language', () =>
  unnoticed(async () => {
    const magic = '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}}}'
    for (const type of [MERGE, STRATEGIC]) {
      const { status, text } = await patch(`${CONFIG_MAPS}/target`, type, `{"x":${magic}}`)
      expect([status, text.includes('"__proto__":{"polluted":"yes"}')]).toEqual([200, true])
    }
    const add = [{ op: 'add', path: '/__proto__/polluted', value: 'yes' }]
    expect((await patch(`${CONFIG_MAPS}/target`, JSON_PATCH, add)).status).toBe(422)
    const yaml = `<<: {__proto__: {polluted: "yes"}}\napiVersion: v1\nkind: ConfigMap\ndata: {__proto__: "1", valueOf: "2"}\n`
    await patch(`${CONFIG_MAPS}/magic?fieldManager=m`, APPLY, yaml)
    for (const selector of ['valueOf', 'constructor', 'hasOwnProperty=x']) {
      const { text } = await attacker.call('GET', `${CONFIG_MAPS}?labelSelector=${selector}`)
      expect(text).toContain('"items":[]')
    }
    const plain = await attacker.call('GET', `${SERVICES}/target`)
    expect(plain.text).not.toContain('polluted')
  }))

test('revisions, tokens and grace periods that the server never issued', () =>
  unnoticed(async () => {
    const token = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const forged = [
      'x',
      token({ v: 'meta.k8s.io/v1', rv: -1, start: 'a' }),
      token({ v: 'meta.k8s.io/v1', rv: 1e300, start: 'a' }),
      token({ v: 'meta.k8s.io/v1', rv: 1, start: { toString: 1 } }),
      token(JSON.parse('{"__proto__":{"v":"meta.k8s.io/v1","rv":1,"start":"a"}}')),
    ]
    for (const query of [
      ...forged.map((text) => `limit=1&continue=${text}`),
      'watch=1&resourceVersion=-1',
      'watch=1&resourceVersion=1e3',
      `watch=1&resourceVersion=${'9'.repeat(400)}`,
      'limit=-1',
      'timeoutSeconds=1e9&watch=1',
      `labelSelector=${'('.repeat(20_000)}`,
      `labelSelector=a+in+(${'a,'.repeat(20_000)}!)`,
      `fieldSelector=${'a=b,'.repeat(10_000)}`,
    ]) {
      const { status, text } = await attacker.call('GET', `${CONFIG_MAPS}?${query}`)
      expect({
        query: query.slice(0, 80),
        is400: [400, 422].includes(status),
        text: status < 500 || text,
      }).toMatchObject({ is400: true })
    }
    for (const seconds of ['1e18', '"x"', '{}', '[1]', '9007199254740993', '1.5']) {
      const body = `{"gracePeriodSeconds":${seconds}}`
      const { status } = await attacker.call('DELETE', `${CONFIG_MAPS}/target`, { body })
      expect([seconds, status]).toEqual([seconds, 400])
    }
    for (const seconds of [-1, 9007199254740991]) {
      const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] }
      const pod = {
        metadata: { name: `grace${seconds}` },
        spec: { ...spec, terminationGracePeriodSeconds: seconds },
      }
      await attacker.call('POST', PODS, { body: JSON.stringify(pod) })
      const body = `{"gracePeriodSeconds":${seconds}}`
      const { status, text } = await attacker.call('DELETE', `${PODS}/grace${seconds}`, { body })
      expect({ seconds, status, text }).toMatchObject({
        status: 200,
      })
    }
  }))

test('watchers that never read, while much changes', () =>
  unnoticed(async () => {
    const { now } = await residentBytes(server.pid!)
    const watchers = await Promise.all(range(30, () => attacker.open()))
    for (const [index, socket] of watchers.entries()) {
      socket.pause()
      socket.write(
        `GET ${CONFIG_MAPS}?watch=1&labelSelector=a!=b${index % 20} HTTP/1.1\r\nHost: x\r\n\r\n`,
      )
    }
    const padding = 'x'.repeat(20_000)
    for (let round = 0; round < 8; round++) {
      await Promise.all(
        range(15, (index) =>
          patch(`${CONFIG_MAPS}/target`, MERGE, {
            data: { padding, [`k${index}`]: String(round) },
          }),
        ),
      )
    }
    const after = await residentBytes(server.pid!)
    expect(after.now - now).toBeLessThan(200 * MIB)
    for (const socket of watchers) socket.destroy()
  }))

test('objects that own each other are collected, or left, and nothing turns in circles', () =>
  unnoticed(async () => {
    const names = ['ring-a', 'ring-b', 'ring-c']
    const uids = new Map<string, string>()
    for (const name of names) {
      const { text } = await attacker.call('POST', CONFIG_MAPS, {
        body: JSON.stringify({ metadata: { name } }),
      })
      uids.set(name, (JSON.parse(text) as { metadata: { uid: string } }).metadata.uid)
    }
    for (const [index, name] of names.entries()) {
      const owner = names[(index + 1) % names.length]!
      const ownerReferences = [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          name: owner,
          uid: uids.get(owner),
          blockOwnerDeletion: true,
        },
      ]
      await patch(`${CONFIG_MAPS}/${name}`, MERGE, { metadata: { ownerReferences } })
    }
    const body = '{"propagationPolicy":"Foreground"}'
    expect((await attacker.call('DELETE', `${CONFIG_MAPS}/ring-a`, { body })).status).toBe(200)
    for (const name of names) {
      await expect
        .poll(async () => (await attacker.call('GET', `${CONFIG_MAPS}/${name}`)).status, {
          timeout: 10_000,
        })
        .toBe(404)
    }
  }))

test('bodies that never end, and requests that are no HTTP', () =>
  unnoticed(async () => {
    const head = `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`
    const slow = await Promise.all(range(160, () => attacker.open()))
    for (const socket of slow) socket.write(`${head}Content-Length: 1000\r\n\r\n{`)
    const endless = await attacker.open()
    endless.write(`${head}Transfer-Encoding: chunked\r\n\r\n`)
    const chunk = `40000\r\n${'x'.repeat(0x40000)}\r\n`
    endless.resume()
    for (let sent = 0; sent < 16; sent++) endless.write(chunk)
    await ended(endless)
    for (const [text, status] of [
      [`${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400],
      [`${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
      [`GET http://x${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 400],
      [
        `GET ${SERVICES}/target HTTP/1.1\r\nHost: x\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
        200,
      ],
      [`${head}Content-Encoding: gzip\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`, 415],
      ['\x16\x03\x01\0\0 not HTTP at all\r\n\r\n', 400],
    ] as const) {
      expect(await attacker.say(text)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    }
    for (const socket of slow) socket.destroy()
  }))

test('10,000 requests at once on one connection', () =>
  unnoticed(async () => {
    const get = `GET ${SERVICES}/target HTTP/1.1\r\nHost: x\r\n\r\n`
    const all = get.repeat(9_999) + get.replace('Host', 'Connection: close\r\nHost')
    // Over TLS, Node closes a connection that has more requests than its buffer can answer.
    expect(await attacker.say(all)).toMatch(/^HTTP\/1.1 200 /)
  }))

test('1,000 connections that say nothing', () =>
  unnoticed(async () => {
    const sockets = await Promise.all(range(1_000, () => attacker.openHalf()))
    expect((await attacker.call('GET', `${SERVICES}/target`)).status).toBe(200)
    for (const socket of sockets) socket.destroy()
  }))
