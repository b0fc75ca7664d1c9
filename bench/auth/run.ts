import { busyPercent } from '../measure/busy-percent.ts'
import { machineFacts } from '../measure/machine.ts'
import type { Options } from '../options.ts'
import type { AuthMeasured } from '../report/auth/results.ts'
import { saveResults } from '../report/files.ts'
import { measureDecisions } from './decisions/decisions.ts'
import { measureFlood } from './flood/flood.ts'
import { FULL, QUICK, type Repeats } from './repeats.ts'
import { measureRequests } from './requests/requests.ts'

type Step = (repeats: Repeats, folder: string) => Promise<Partial<AuthMeasured>>

const STEPS: Readonly<Record<string, Step>> = {
  decisions: (repeats) => Promise.resolve({ decisions: measureDecisions(repeats) }),
  requests: async (repeats, folder) => ({ requests: await measureRequests(repeats, folder) }),
  flood: async (repeats, folder) => ({ flood: await measureFlood(repeats, folder) }),
}

/** Measures the cost of authentication and authorization. A failure ends the measurement, and is reported. */
export async function runAuth({ quick, into }: Options, folder: string): Promise<void> {
  const startedAt = new Date().toISOString().slice(0, 10)
  const machine = machineFacts()
  const head = { startedAt, machine, quick, busyPercent: await busyPercent() }
  let measured: Partial<AuthMeasured> = {}
  for (const [name, step] of Object.entries(STEPS)) {
    log(name)
    try {
      measured = { ...measured, ...(await step(quick ? QUICK : FULL, folder)) }
    } catch (error) {
      const problem = `${name}: ${error instanceof Error ? error.message.trim() : String(error)}`
      log(`stopped: ${problem}`)
      saveResults(into, 'auth', { ...head, unfinished: problem.slice(0, 300), measured })
      return
    }
    saveResults(into, 'auth', { ...head, measured })
  }
}

function log(what: string): void {
  process.stderr.write(`bench: auth: ${what}\n`)
}
