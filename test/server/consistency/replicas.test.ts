import { expect, it, vi } from 'vitest'
import type { JsonObject } from '../../../src/lib/json.ts'
import { createEtcdStore } from '../../../src/storage/etcd/etcd-store.ts'
import { Caller } from '../../support/consistency/caller.ts'
import { expectConsistent, seedOfRun } from '../../support/consistency/expect-consistent.ts'
import { runClients } from '../../support/consistency/run.ts'
import { SCARCE, SERVICES } from '../../support/consistency/service-request.ts'
import { summaryOf } from '../../support/consistency/summary.ts'
import { World } from '../../support/consistency/world.ts'
import { startEtcd } from '../../support/etcd/etcd-process.ts'
import { hasEtcd } from '../../support/etcd/has-etcd.ts'
import { seeded } from '../../support/forwarding/seeded.ts'
import { startOrchServer } from '../../support/orchserver/orch-server-process.ts'

const KILLS = 8
/** Answers between two kills, at most. */
const ANSWERS = 200
/** In which a client whose server was killed has another one, on a machine that has more to do. */
const FAIL_OVER_MS = 10_000

it.runIf(hasEtcd())(
  'of two servers on one etcd one is killed under load, and clients go on with the other',
  async ({ annotate }) => {
    const seed = seedOfRun()
    const dice = seeded(seed)
    await using etcd = await startEtcd()
    const flags = [...SCARCE, '--bookmark-period=1s', `--etcd-servers=${etcd.endpoint}`]
    await using one = await startOrchServer({ flags })
    await using other = await startOrchServer({ flags })
    const servers = [one, other]
    const world = new World(servers)
    const run = await runClients({
      world,
      seed,
      ordeal: async ({ history, watchers }) => {
        await watchers[1].hears('MODIFIED')
        for (let kills = 0; kills < KILLS; kills++) {
          const victim = servers[dice(2)]!
          await history.answers(1 + dice(ANSWERS))
          world.goesDown(victim)
          await victim.kill()
          await history.answers(1 + dice(ANSWERS))
          await victim.start()
          world.comesUp(victim)
        }
      },
    })
    await annotate(summaryOf(run))
    expectConsistent(run)
    expect(Math.max(...run.outages)).toBeLessThan(FAIL_OVER_MS)
  },
)

it.runIf(hasEtcd())(
  'the controllers of one of them write, each object once, and when it stops those of the other',
  async ({ annotate }) => {
    await using etcd = await startEtcd()
    const flags = [`--etcd-servers=${etcd.endpoint}`]
    await using one = await startOrchServer({ flags })
    await using other = await startOrchServer({ flags })
    const prefix = '/registry-elections'
    const elections = createEtcdStore({ endpoints: [etcd.endpoint], prefix })
    await using held = new AsyncDisposableStack()
    held.defer(() => elections.close())
    const caller = held.use(new Caller([one, other]))
    const leaders = new Set<string | undefined>()
    const written = new Map<string, unknown>()
    for (const server of [one, other, one]) {
      const began = performance.now()
      const name = `web-${leaders.size}-${written.size}`
      await createSelecting(caller, name)
      written.set(name, await vi.waitFor(() => writtenFor(caller, name), WAITING))
      leaders.add((await elections.get('/controllers'))?.value.toString())
      const ms = Math.round(performance.now() - began)
      await annotate(`controllers wrote for ${name} after ${ms} ms`)
      await server.stop()
      await server.start()
    }
    expect([...leaders].filter((leader) => leader !== undefined)).toHaveLength(leaders.size)
    expect(leaders.size).toBeGreaterThan(1)
    for (const [name, first] of written) expect(await writtenFor(caller, name)).toEqual(first)
  },
)

const WAITING = { timeout: 90_000, interval: 20 }

async function createSelecting(caller: Caller, name: string): Promise<void> {
  const spec = { selector: { app: name }, ports: [{ port: 80 }] }
  const body = { metadata: { name }, spec }
  const sent = () => caller.send({ method: 'POST', path: SERVICES, body })
  await vi.waitFor(async () => expect(await sent()).toMatchObject({ status: 201 }), WAITING)
}

/** The Endpoints and the one slice of a Service, as they are. */
async function writtenFor(caller: Caller, name: string) {
  const label = `labelSelector=${encodeURIComponent(`kubernetes.io/service-name=${name}`)}`
  const slices = `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?${label}`
  const endpoints = await read(caller, SERVICES.replace(/services$/, `endpoints/${name}`))
  const { items } = await read(caller, slices)
  expect(items).toHaveLength(1)
  return { endpoints, items }
}

async function read(caller: Caller, path: string): Promise<JsonObject> {
  const answer = await caller.send({ method: 'GET', path })
  if (typeof answer === 'string' || answer.status !== 200) throw new Error(JSON.stringify(answer))
  return answer.body
}
