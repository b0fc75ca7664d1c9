import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createEtcdStore } from '../../../src/storage/etcd/etcd-store.ts'
import { type BackupTime, cutFaults } from '../../support/consistency/cut-faults.ts'
import { expectConsistent, seedOfRun } from '../../support/consistency/expect-consistent.ts'
import { applyChange, differences } from '../../support/consistency/fold.ts'
import { History } from '../../support/consistency/history.ts'
import { runClients } from '../../support/consistency/run.ts'
import { SCARCE } from '../../support/consistency/service-request.ts'
import { Watcher } from '../../support/consistency/watcher.ts'
import { World } from '../../support/consistency/world.ts'
import { Writer } from '../../support/consistency/writer.ts'
import { type EtcdProcess, startEtcd } from '../../support/etcd/etcd-process.ts'
import { hasEtcd } from '../../support/etcd/has-etcd.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../../support/orchserver/orch-server-process.ts'
import { runOrchServerCommand } from '../../support/orchserver/run-command.ts'

/** Answers before and after a backup. */
const ANSWERS = 300

interface Keeper {
  backUp(): Promise<unknown>
  /** While no server runs. */
  restore(): Promise<unknown>
}

it('a backup under load is one moment of it, and going back to it is noticed by watchers', async () => {
  await using folder = await newFolder()
  await using server = await startOrchServer({ flags: [...SCARCE] })
  const [file, where] = [join(folder.path, 'backup'), `--data-dir=${server.dataDir}`]
  await expectBackup(server, {
    backUp: () => runOrchServerCommand('backup', file, where),
    restore: () => runOrchServerCommand('restore', file, where, '--replace'),
  })
})

it.runIf(hasEtcd())('so it is with a copy of the etcd, whose revisions are raised', async () => {
  await using folder = await newFolder()
  await using etcd = await startEtcd()
  const flags = [...SCARCE, '--watch-window-changes=100', `--etcd-servers=${etcd.endpoint}`]
  await using server = await startOrchServer({ flags })
  const copy = join(folder.path, 'backup')
  await expectBackup(server, {
    backUp: () => etcd.backUp(copy),
    restore: async () => {
      await etcd.restore(copy)
      await raiseRevisions(etcd)
    },
  })
})

async function expectBackup(server: OrchServerProcess, keeper: Keeper): Promise<void> {
  const world = new World([server])
  let taken: BackupTime | undefined
  const run = await runClients({
    world,
    seed: seedOfRun(),
    ordeal: async ({ history }) => {
      await history.answers(ANSWERS)
      const before = await listOnce(world, history)
      await keeper.backUp()
      taken = { before, ended: history.tick() }
      await history.answers(ANSWERS)
    },
  })
  expectConsistent(run)

  const history = new History()
  const witness = new Watcher({ name: 'witness', world, history, bookmarks: false, turn: 0 })
  await witness.begin()
  const stop = new AbortController()
  const watching = witness.watch(stop.signal)
  world.goesDown(server)
  await server.stop()
  await keeper.restore()
  await server.start()
  world.comesUp(server)
  expect(cutFaults(run, taken!, await listOnce(world, history))).toEqual([])
  const version = await new Writer({ world, history, seed: 0, client: 0 }).make('after')
  await witness.reach(version!)
  const [expired, ...changes] = witness.lines
  expect(expired).toMatchObject({ type: 'EXPIRED', version: run.end })
  const state = new Map(witness.relisted!.objects)
  for (const change of changes) applyChange(state, change)
  expect(differences(state, (await listOnce(world, history)).objects)).toEqual([])
  expect(witness.relisted!.version).toBeGreaterThan(run.end)
  stop.abort()
  await watching
}

/**
 * What `etcdutl snapshot restore --bump-revision --mark-compacted` does, which
 * older etcds lack: 1,000 revisions more than were given out, and none of
 * them can be requested.
 */
async function raiseRevisions(etcd: EtcdProcess): Promise<void> {
  const store = createEtcdStore({ endpoints: [etcd.endpoint], prefix: '/another-server' })
  const value = Buffer.alloc(0)
  const write = () => store.txn({ compare: [], operations: [{ op: 'put', key: '/a', value }] })
  for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 100 }, write))
  await store.compact(await store.revision())
  await store.close()
}

async function listOnce(world: World, history: History) {
  const lister = new Watcher({ name: 'lister', world, history, bookmarks: false, turn: 0 })
  await lister.begin()
  return lister.start
}

async function newFolder() {
  const path = await mkdtemp(join(tmpdir(), 'np-backup-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}
