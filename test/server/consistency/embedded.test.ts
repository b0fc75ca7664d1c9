import { it } from 'vitest'
import { expectConsistent, seedOfRun } from '../../support/consistency/expect-consistent.ts'
import { rounds } from '../../support/consistency/rounds.ts'
import { runClients } from '../../support/consistency/run.ts'
import { SCARCE } from '../../support/consistency/service-request.ts'
import { summaryOf } from '../../support/consistency/summary.ts'
import { World } from '../../support/consistency/world.ts'
import { seeded } from '../../support/forwarding/seeded.ts'
import { startOrchServer } from '../../support/orchserver/orch-server-process.ts'

const KILLS = { most: 50, least: 10, withinMs: 90_000 }
/** Answers between two kills, at most. */
const ANSWERS = 80
/** A start takes about as long. */
const START_MS = 600

it('a server on the embedded store that is killed again and again loses and repeats nothing', async ({
  annotate,
}) => {
  const seed = seedOfRun()
  const dice = seeded(seed)
  await using server = await startOrchServer({ flags: [...SCARCE, '--bookmark-period=1s'] })
  const world = new World([server])
  const run = await runClients({
    world,
    seed,
    ordeal: async ({ history, watchers }) => {
      await watchers[0].hears('BOOKMARK')
      for (const _ of rounds(KILLS)) {
        world.goesDown(server)
        await server.kill()
        if (dice(8) === 0) await server.startInVain(dice(START_MS))
        await server.start()
        world.comesUp(server)
        await history.answers(1 + dice(ANSWERS))
      }
    },
  })
  await annotate(summaryOf(run))
  expectConsistent(run)
})
