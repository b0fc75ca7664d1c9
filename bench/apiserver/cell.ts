import type { ApiserverCell, ApiserverMeasured } from '../report/apiserver/results.ts'
import type { Context } from './measure/context.ts'
import { creates } from './measure/creates.ts'
import { get, lists } from './measure/reads.ts'
import { idleWatchers, starts } from './measure/starts.ts'
import { fanOuts, patches } from './measure/watches.ts'

type Step = (context: Context) => Promise<Partial<ApiserverMeasured>>

/** The measurements in their order: the store is empty at first, and full when the Endpoints are created. */
const STEPS: Readonly<Record<string, Step>> = {
  'starts, empty': async (context) => ({ startEmpty: await starts(context) }),
  'idle watchers': async (context) => ({ idleWatchers: await idleWatchers(context) }),
  'create Services': async (context) => ({ createServices: await creates(context, 'services') }),
  'create Endpoints': async (context) => ({
    createEndpoints: await creates(context, 'endpoints'),
  }),
  memory: async ({ server }) => ({ filled: { residentKib: [await server.resident()] } }),
  get: async (context) => ({ get: await get(context) }),
  list: async (context) => ({ lists: await lists(context) }),
  patch: async (context) => ({ patch: await patches(context) }),
  'watch fan-out': async (context) => ({ fanOut: await fanOuts(context) }),
  'starts, full': async (context) => ({ startFull: await starts(context) }),
  readiness: async ({ server, load, repeats }) => {
    const order = { what: 'readiness', times: repeats.readiness, boundMs: 5_000 } as const
    return { readiness: await load.request({ ...order, ...server.target }) }
  },
}

/** Measures everything about one driver. A failure ends the measurement, and is reported. */
export async function measureCell(
  context: Context,
  log: (what: string) => void,
): Promise<ApiserverCell> {
  const { driver } = context
  let measured: Partial<ApiserverMeasured> = {}
  for (const [name, step] of Object.entries(STEPS)) {
    log(`${driver}: ${name}`)
    try {
      measured = { ...measured, ...(await step(context)) }
    } catch (error) {
      const problem = `${name}: ${error instanceof Error ? error.message.trim() : String(error)}`
      log(`${driver}: stopped: ${problem}`)
      return { driver, unfinished: problem.slice(0, 300), measured }
    }
  }
  return { driver, measured }
}
