import { it } from 'vitest'
import { expectConsistent, seedOfRun } from '../../support/consistency/expect-consistent.ts'
import { rounds } from '../../support/consistency/rounds.ts'
import { runClients } from '../../support/consistency/run.ts'
import { SCARCE } from '../../support/consistency/service-request.ts'
import { summaryOf } from '../../support/consistency/summary.ts'
import { World } from '../../support/consistency/world.ts'
import { startEtcd } from '../../support/etcd/etcd-process.ts'
import { hasEtcd } from '../../support/etcd/has-etcd.ts'
import { seeded } from '../../support/forwarding/seeded.ts'
import { startOrchServer } from '../../support/orchserver/orch-server-process.ts'

const KILLS = { most: 50, least: 10, withinMs: 90_000 }
/** Answers between two kills, at most. */
const ANSWERS = 60
/** A start takes about as long. */
const START_MS = 800

it.runIf(hasEtcd())(
  'orch-server, its etcd or both are killed again and again, and nothing is lost or repeated',
  async ({ annotate }) => {
    const seed = seedOfRun()
    const dice = seeded(seed)
    await using etcd = await startEtcd()
    const flags = [...SCARCE, '--bookmark-period=1s', `--etcd-servers=${etcd.endpoint}`]
    await using server = await startOrchServer({ flags })
    const world = new World([server])
    const restartServer = async (killed: Promise<unknown>): Promise<void> => {
      world.goesDown(server)
      await Promise.all([server.kill(), killed])
      if (dice(8) === 0) await server.startInVain(dice(START_MS))
      await server.start()
      world.comesUp(server)
    }
    const restartEtcd = async (): Promise<void> => {
      await etcd.kill()
      await etcd.start()
    }
    const run = await runClients({
      world,
      seed,
      ordeal: async ({ history, watchers }) => {
        await watchers[0].hears('BOOKMARK')
        for (const _ of rounds(KILLS)) {
          const struck = dice(4)
          if (struck < 2) await restartEtcd()
          else if (struck === 2) await restartServer(Promise.resolve())
          else await Promise.all([restartServer(etcd.kill()), etcd.kill().then(() => etcd.start())])
          await history.answers(1 + dice(ANSWERS))
        }
      },
    })
    await annotate(summaryOf(run))
    expectConsistent(run)
  },
)
