import { statSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type ApiResult, statusFailure } from '../../client/http/failure.ts'
import { type JsonObject, objectAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { nodeTools } from '../testing/node-tools.ts'
import { containers, podPlan } from '../testing/pod-story.ts'
import { PodVolumes } from './pod-volumes.ts'

const SETTINGS = '/api/v1/namespaces/default/configmaps/settings'
const TOKEN = '/api/v1/namespaces/default/serviceaccounts/robot/token'
const HOUR = 3_600_000

const VOLUMES = [
  {
    name: 'access',
    projected: {
      sources: [
        { serviceAccountToken: { path: 'token', audience: 'vault', expirationSeconds: 3600 } },
        { downwardAPI: { items: [{ path: 'who', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      ],
    },
  },
  { name: 'settings', configMap: { name: 'settings' } },
]

/** The volumes of a Pod, and a server that has `objects` and numbers its tokens. */
async function stage(spec: JsonObject = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'np-volumes-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const clock = new FakeClock()
  const objects = new Map<string, JsonObject>([[SETTINGS, { data: { level: 'low' } }]])
  const requests: JsonObject[] = []
  const server = { code: 0 }
  const refused = (code: number): ApiResult<unknown> => ({
    ok: false,
    failure: statusFailure(code, {}),
  })
  const client = {
    get: (path: string): Promise<ApiResult<unknown>> => {
      const value = objects.get(path)
      return Promise.resolve(value === undefined ? refused(404) : { ok: true, value })
    },
    create: (path: string, body: unknown): Promise<ApiResult<unknown>> => {
      if (server.code > 0 || path !== TOKEN) return Promise.resolve(refused(server.code || 404))
      const wanted = objectAt(body as JsonObject, 'spec')
      requests.push(wanted)
      const status = { token: `secret-${requests.length}` }
      return Promise.resolve({ ok: true, value: { spec: wanted, status } })
    },
  }
  const folders = { memory: join(folder, 'memory'), disk: join(folder, 'disk') }
  const tools = nodeTools({
    clock,
    client,
    folders,
    onError: (error) => expect.fail(String(error)),
  })
  const pod = podPlan({ serviceAccountName: 'robot', volumes: VOLUMES, ...spec }, LABELLED)
  const problems: string[] = []
  const volumes = new PodVolumes(tools, pod, (message) => problems.push(message))
  onTestFinished(() => volumes.close())
  const at = (...path: readonly string[]): string => join(folders.memory, 'u1', ...path)
  const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
    while (!(await holds())) await new Promise(setImmediate)
  }
  const read = (...path: readonly string[]) => readFile(at(...path), 'utf8')
  return { clock, volumes, objects, requests, server, problems, folders, at, until, read }
}

const LABELLED = { labels: { b: '2"', a: '1' } }

test('a token is requested for its Pod and audience, and written where its Pod can read it', async () => {
  const { volumes, requests, read, at } = await stage()
  await volumes.make()
  expect(requests).toEqual([
    {
      audiences: ['vault'],
      expirationSeconds: 3600,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'u1' },
    },
  ])
  expect(await read('access', 'token')).toBe('secret-1')
  expect(await read('access', 'who')).toBe('a="1"\nb="2\\""')
  expect(await read('settings', 'level')).toBe('low')
  expect(statSync(at('settings', 'level')).mode & 0o777).toBe(0o644)
  await volumes.close()
  await expect(read('access', 'token')).rejects.toThrow('ENOENT')
})

test('a token is replaced before 80 % of its life, and no sooner than needed', async () => {
  const { clock, volumes, requests, read, until } = await stage()
  await volumes.make()
  for (let passed = 0; passed < 47; passed++) {
    await clock.advance(60_000)
    await until(() => clock.pending().length > 0)
  }
  expect(requests).toHaveLength(1)
  await clock.advance(0.8 * HOUR - 47 * 60_000)
  await until(async () => (await read('access', 'token')) === 'secret-2')
  expect(requests).toHaveLength(2)
})

test('a renewal that fails is repeated ever more rarely and reported without the token', async () => {
  const { clock, volumes, server, problems, read, until } = await stage()
  await volumes.make()
  server.code = 403
  clock.elapse(0.8 * HOUR)
  volumes.changed({ labels: { c: '3' }, annotations: {} })
  await clock.advance(0)
  await until(() => problems.length === 1)
  for (const wait of [1_000, 2_000, 4_000]) {
    expect(clock.pending()).toEqual([wait])
    const before = problems.length
    await clock.advance(wait)
    await until(() => problems.length > before && clock.pending().length > 0)
  }
  expect(problems[0]).toContain('volume access: HTTP 403')
  expect(await read('access', 'who')).toBe('c="3"')
  expect(problems.join()).not.toContain('secret-')
  expect(await read('access', 'token')).toBe('secret-1')
  server.code = 0
  await clock.advance(8_000)
  await until(async () => (await read('access', 'token')) === 'secret-2')
})

test('a changed ConfigMap arrives, one that is gone leaves its files, and labels are followed', async () => {
  const { clock, volumes, objects, problems, read, until } = await stage()
  await volumes.make()
  objects.set(SETTINGS, { data: { level: 'high' } })
  volumes.changed({ labels: { c: '3' }, annotations: {} })
  await clock.advance(60_000)
  await until(async () => (await read('settings', 'level')) === 'high')
  await until(async () => (await read('access', 'who')) === 'c="3"')
  await until(() => clock.pending().length > 0)
  objects.delete(SETTINGS)
  await clock.advance(60_000)
  await until(() => problems.length === 1)
  expect(problems).toEqual([
    'volume settings: configmap "settings" not found: make it, or mark it as optional',
  ])
  expect(await read('settings', 'level')).toBe('high')
})

test.each([
  [{ serviceAccountName: 'missing' }, 'volume access: HTTP 404'],
  [{ volumes: [{ name: 'v', secret: { secretName: 'db' } }] }, 'volume v: secret "db" not found'],
  [
    { volumes: [{ name: 'v', configMap: { name: 'settings', items: [{ key: 'x', path: 'x' }] } }] },
    'volume v: configmap "settings" has no key "x"',
  ],
] as readonly (readonly [JsonObject, string])[])(
  'with %j nothing is made: %s',
  async (spec, words) => {
    const { clock, volumes, folders } = await stage(spec)
    await expect(volumes.make()).rejects.toThrow(words)
    expect(await readdir(folders.memory)).toEqual([])
    expect(clock.pending()).toEqual([])
  },
)

test('what is optional and not there gives no file', async () => {
  const items = [{ key: 'x', path: 'x' }]
  const sources = [
    { configMap: { name: 'settings', optional: true, items } },
    { secret: { name: 'other', optional: true } },
  ]
  const { volumes, at } = await stage({ volumes: [{ name: 'v', projected: { sources } }] })
  await volumes.make()
  expect((await readdir(at('v'))).filter((name) => !name.startsWith('..'))).toEqual([])
})

test.runIf(process.getuid?.() === 0)(
  'files belong to the user and the group of the Pod',
  async () => {
    const securityContext = { runAsUser: 1234, fsGroup: 4321 }
    const empty = { name: 'work', emptyDir: {} }
    const { volumes, at, folders } = await stage({ securityContext, volumes: [...VOLUMES, empty] })
    await volumes.make()
    const seen = (path: string) => {
      const { uid, gid, mode } = statSync(path)
      return [uid, gid, (mode & 0o7777).toString(8)]
    }
    expect(seen(at('access', 'token'))).toEqual([1234, 4321, '640'])
    expect(seen(at('settings', 'level'))).toEqual([0, 4321, '644'])
    expect(seen(join(folders.disk, 'u1', 'work'))).toEqual([0, 4321, '2777'])
    expect(statSync(at()).mode & 0o077).toBe(0)
  },
)

test.runIf(process.getuid?.() === 0).each([
  ['one user', { ...containers({}, {}), securityContext: { runAsUser: 1234 } }, [1234, '600']],
  [
    'two users',
    containers({ securityContext: { runAsUser: 1 } }, { securityContext: { runAsUser: 2 } }),
    [0, '644'],
  ],
  ['no user of its own', containers({}), [0, '644']],
])('the token of a Pod with %s is readable for its containers', async (_what, spec, expected) => {
  const { volumes, at } = await stage(spec)
  await volumes.make()
  const { uid, mode } = statSync(at('access', 'token'))
  expect([uid, (mode & 0o777).toString(8)]).toEqual(expected)
})

test('what an earlier agent left of a Pod is removed first', async () => {
  const { volumes, at, read, folders } = await stage()
  await mkdir(at('access'), { recursive: true })
  await writeFile(at('access', 'left'), 'left')
  await symlink(folders.memory, at('settings'))
  await volumes.make()
  await expect(read('access', 'left')).rejects.toThrow('ENOENT')
  expect(await read('settings', 'level')).toBe('low')
  expect(await readdir(folders.memory)).toEqual(['u1'])
})

test('the end of a Pod ends its requests, also one that is never answered', async () => {
  const started = Promise.withResolvers<void>()
  const hangs = (signal: AbortSignal | undefined): Promise<never> => {
    started.resolve()
    return new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(new Error('ended')))
    })
  }
  const { folders } = await stage()
  const client = {
    get: (_path: string, options?: { readonly signal?: AbortSignal }) => hangs(options?.signal),
    create: (_path: string, _body: unknown, options?: { readonly signal?: AbortSignal }) =>
      hangs(options?.signal),
  }
  const tools = nodeTools({ clock: new FakeClock(), client, folders, onError: () => undefined })
  const volumes = new PodVolumes(tools, podPlan({ volumes: VOLUMES }), () => undefined)
  const made = volumes.make().catch(String)
  await started.promise
  await volumes.close()
  expect(await made).toContain('ended')
  expect(await readdir(folders.memory)).toEqual([])
})

test('volumes that are made again during an update are updated once in a minute', async () => {
  const { clock, volumes, objects } = await stage()
  await volumes.make()
  objects.set(SETTINGS, { data: { level: 'high' } })
  await clock.advance(66_000)
  expect(clock.pending()).toEqual([])
  await volumes.make()
  expect(clock.pending()).toHaveLength(1)
})

test('a Pod whose uid is no name gets no volumes', async () => {
  const { folders } = await stage()
  const tools = nodeTools({ clock: new FakeClock(), folders, onError: () => undefined })
  const pod = podPlan({ volumes: VOLUMES }, { uid: '../u' })
  const volumes = new PodVolumes(tools, pod, () => undefined)
  await expect(volumes.make()).rejects.toThrow('metadata.uid')
})
