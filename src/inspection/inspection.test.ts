import { once } from 'node:events'
import { existsSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, credentials } from '@grpc/grpc-js'
import { service as healthService } from 'grpc-health-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { NodeProxyError } from '../lib/error.ts'
import { ChangeHistory } from './change-history.ts'
import { openInspection } from './inspection-client.ts'
import type { InspectionSource } from './inspection-source.ts'
import { serveInspection } from './serve-inspection.ts'

let folder: string
const cleanups: (() => unknown)[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'np-inspect-'))
})
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean()
  rmSync(folder, { recursive: true })
})

function source(changes: Partial<InspectionSource> = {}): InspectionSource {
  return {
    status: () => ({ version: '1.2.3', mode: 'iptables', isReady: true }),
    entries: (service) => [{ id: `${service}:http/TCP/4`, service }],
    async *traffic(service) {
      yield { service, total: { connections: 3n, bytesIn: 0n }, backends: [] }
    },
    explain: ({ src }) => (src === '' ? 'src: write one' : { dst: '10.0.0.1', outcome: 'deliver' }),
    async *documents() {
      yield { name: 'a.txt', text: 'one ' }
      yield { name: 'a.txt', text: 'two' }
    },
    watchChanges: () => () => undefined,
    ...changes,
  }
}

async function serve(given = source(), socket = join(folder, 'run', 'inspect.sock')) {
  const errors: unknown[] = []
  const gid = process.getgid?.() ?? 0
  const service = await serveInspection({ socket, gid }, given, (error) => errors.push(error))
  cleanups.push(() => service.close())
  const client = openInspection(socket)
  cleanups.push(() => client.close())
  return { socket, service, client, errors }
}

test('status, entries, traffic and explanations arrive; a wrong request is refused with its reason', async () => {
  const { client, errors } = await serve()
  expect(await client.status()).toMatchObject({ version: '1.2.3', mode: 'iptables', isReady: true })
  expect(await Array.fromAsync(client.entries('ns/a'))).toMatchObject([{ id: 'ns/a:http/TCP/4' }])
  const [traffic] = await Array.fromAsync(client.traffic('ns/a'))
  expect(traffic).toMatchObject({ service: 'ns/a', total: { connections: 3n, bytesIn: 0n } })
  expect(traffic?.total?.bytesOut, 'absent is not 0').toBeUndefined()
  expect(await client.explain({ src: '10.0.0.2' })).toMatchObject({ outcome: 'deliver' })
  expect((await Array.fromAsync(client.documents())).map(({ text }) => text)).toEqual([
    'one ',
    'two',
  ])
  await expect(client.explain({ src: '' })).rejects.toMatchObject({
    code: 'NP_INSPECTION_REFUSED',
    message: 'src: write one',
  })
  expect(errors).toEqual([])
})

test('ten thousand entries arrive in order, each made only when there is space for it', async () => {
  const made: number[] = []
  function* entries() {
    for (let number = 0; number < 10_000; number++) {
      made.push(number)
      yield { id: `${number}`.padEnd(200, '.') }
    }
  }
  const { client } = await serve(source({ entries }))
  const reader = client.entries('')[Symbol.asyncIterator]()
  const first = await reader.next()
  expect(Number.parseInt(first.value?.id, 10)).toBe(0)
  await client.status()
  expect(made.length).toBeLessThan(9_000)
  let count = 1
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) count++
  expect(count).toBe(10_000)
})

test('a signal that is aborted already ends the reading of changes at once', async () => {
  const { client } = await serve()
  expect(await Array.fromAsync(client.changes(AbortSignal.abort()))).toEqual([])
})

test('a socket that cannot be given to its group is closed and removed', async () => {
  const socket = join(folder, 'inspect.sock')
  const noGroup = 2 ** 32
  await expect(serveInspection({ socket, gid: noGroup }, source(), () => 0)).rejects.toMatchObject({
    code: 'NP_INSPECTION_SOCKET',
  })
  await expect.poll(() => existsSync(socket)).toBe(false)
  expect(
    await openInspection(socket)
      .status()
      .catch(({ code }) => code),
  ).toBe('NP_INSPECTION_UNREACHABLE')
})

test('changes: the last ones, then each further one; the source is released when the reader ends', async () => {
  const history = new ChangeHistory()
  const run = (at: number) => ({
    at,
    durationMs: 1,
    change: { set: [], unset: [] },
    failed: new Map(),
  })
  const write = (service: string, at: number) => {
    history.compiled([service], at - 5)
    history.applied(run(at))
  }
  write('ns/old', 100)
  const released = Promise.withResolvers<void>()
  const { client } = await serve(
    source({
      watchChanges(onChange) {
        const stop = history.watch(({ service, compiledAt, appliedAt }) =>
          onChange({ service, compiledAt: BigInt(compiledAt), appliedAt: BigInt(appliedAt) }),
        )
        return () => {
          stop()
          released.resolve()
        }
      },
    }),
  )
  const stop = new AbortController()
  const seen: string[] = []
  for await (const { service, compiledAt, appliedAt } of client.changes(stop.signal)) {
    seen.push(`${service} ${appliedAt - compiledAt}`)
    if (seen.length === 1) write('ns/new', 200)
    else stop.abort()
  }
  expect(seen).toEqual(['ns/old 5', 'ns/new 5'])
  await released.promise
})

test('health and reflection', async () => {
  const { socket } = await serve()
  const client = new Client(`unix:${socket}`, credentials.createInsecure())
  cleanups.push(() => client.close())
  const health = healthService as never as Record<string, Definition>
  const answer = await call(client, health['Check']!, {
    service: 'nodeproxy.inspection.v1.Inspection',
  })
  expect(answer).toMatchObject({ status: 'SERVING' })
  const names = await reflectedServices(client)
  expect(names).toContain('nodeproxy.inspection.v1.Inspection')
})

interface Definition {
  readonly path: string
  readonly requestSerialize: (value: object) => Buffer
  readonly responseDeserialize: (bytes: Buffer) => object
}

function call(client: Client, method: Definition, request: object): Promise<object | undefined> {
  const { path, requestSerialize, responseDeserialize } = method
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, value) =>
      error === null ? resolve(value) : reject(error),
    )
  })
}

/** listServices is field 7 of the request; its answer has the names as plain text. */
async function reflectedServices(client: Client): Promise<string> {
  const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
  const same = (bytes: Buffer): Buffer => bytes
  const stream = client.makeBidiStreamRequest(path, same, same)
  stream.write(Buffer.from([0x3a, 0x00]))
  const [answer] = (await once(stream, 'data')) as [Buffer]
  stream.end()
  await once(stream, 'end')
  return answer.toString('latin1')
}

describe('the socket', () => {
  test('has mode 0660, in a folder that is made', async () => {
    const { socket } = await serve()
    expect(statSync(socket).mode & 0o777).toBe(0o660)
    expect(statSync(join(folder, 'run')).mode & 0o777).toBe(0o755)
  })

  test('one at which a process listens is refused', async () => {
    const { socket } = await serve()
    await expect(serve(source(), socket)).rejects.toMatchObject({
      code: 'NP_INSPECTION_SOCKET',
      message: expect.stringContaining('another process listens there'),
    })
  })

  test('one that a killed process left is replaced', async () => {
    const [before, socket] = [join(folder, 'before.sock'), join(folder, 'inspect.sock')]
    const killed: Server = createServer().listen(before)
    await once(killed, 'listening')
    // Under another name its end does not remove it.
    renameSync(before, socket)
    killed.close()
    await once(killed, 'close')
    expect(statSync(socket).isSocket()).toBe(true)
    const { client } = await serve(source(), socket)
    expect(await client.status()).toMatchObject({ version: '1.2.3' })
  })

  test('a file is not replaced', async () => {
    const socket = join(folder, 'inspect.sock')
    writeFileSync(socket, 'precious')
    await expect(serve(source(), socket)).rejects.toThrow('a file of that name is no socket')
  })

  test('no process listens: the error says what to check', async () => {
    const client = openInspection(join(folder, 'none.sock'))
    cleanups.push(() => client.close())
    const error: unknown = await client.status().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(NodeProxyError)
    expect(error).toMatchObject({ code: 'NP_INSPECTION_UNREACHABLE' })
  })

  test('calls end when the service is closed', async () => {
    const { client, service } = await serve()
    await client.status()
    const reading = Array.fromAsync(client.changes(new AbortController().signal))
    await client.status()
    await service.close()
    await expect(reading).rejects.toMatchObject({ code: 'NP_INSPECTION_UNREACHABLE' })
  })
})
