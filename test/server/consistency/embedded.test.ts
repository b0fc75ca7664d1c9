import { it } from 'vitest'
import { expectConsistent, seedOfRun } from '../../support/consistency/expect-consistent.ts'
import { runClients } from '../../support/consistency/run.ts'
import { SCARCE } from '../../support/consistency/service-request.ts'
import { summaryOf } from '../../support/consistency/summary.ts'
import { World } from '../../support/consistency/world.ts'
import { seeded } from '../../support/forwarding/seeded.ts'
import { startOrchServer } from '../../support/orchserver/orch-server-process.ts'

const KILLS = 50
/** Answers between two kills, at most. */
const ANSWERS = 80
/** It takes a minute where little else runs. */
const TIMEOUT_MS = 300_000
/** A start takes about as long. */
const START_MS = 600

it('a server on the embedded store that is killed fifty times loses and repeats nothing', {
  timeout: TIMEOUT_MS,
}, async ({ annotate }) => {
  const seed = seedOfRun()
  const dice = seeded(seed)
  await using server = await startOrchServer({ flags: [...SCARCE, '--bookmark-period=1s'] })
  const world = new World([server])
  const run = await runClients({
    world,
    seed,
    ordeal: async ({ history, watchers }) => {
      await watchers[0].hears('BOOKMARK')
      for (let kills = 0; kills < KILLS; kills++) {
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
