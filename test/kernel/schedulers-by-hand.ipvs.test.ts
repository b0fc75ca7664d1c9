import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  BACKENDS,
  OBSERVATIONS,
  SCHEDULERS,
  type SchedulerName,
  type Weights,
} from '../support/ipvs/behaviour.ts'
import { labStage } from '../support/ipvs/lab-stage.ts'
import { createLab, type Lab } from '../support/lab/lab.ts'

/**
 * The observations themselves, with virtual servers made by ipvsadm and no daemon:
 * each recognises its scheduler and finds fault with every other one.
 */
const DESTINATIONS = Array.from({ length: 8 }, (_, index) => `172.30.40.${index + 1}`)

let lab: Lab
beforeAll(async () => {
  lab = await createLab()
  await lab.node.namespace.ip(DESTINATIONS.map((ip) => `route add local ${ip} dev lo`))
})
afterAll(() => lab.close())

async function ipvsadm(...lines: readonly string[]): Promise<void> {
  await lab.node.namespace.exec(['ipvsadm', '-R'], { input: `${lines.join('\n')}\n` })
}

async function stageOf(scheduler: SchedulerName) {
  await lab.node.namespace.exec(['ipvsadm', '-C'])
  await ipvsadm(...DESTINATIONS.map((ip) => `-A -t ${ip}:80 -s ${scheduler}`))
  let now: Weights = {}
  return labStage(lab, {
    destinations: DESTINATIONS,
    async balance(weights) {
      const changes = BACKENDS.flatMap((name) => {
        const [before, after] = [now[name], weights[name]]
        if (before === after) return []
        const action = before === undefined ? '-a' : '-e'
        return DESTINATIONS.map((ip) => `${action} -t ${ip}:80 -r ${name} -m -w ${after ?? 0}`)
      })
      await ipvsadm(...changes)
      now = { ...Object.fromEntries(Object.keys(now).map((name) => [name, 0])), ...weights }
    },
  })
}

const pairs = SCHEDULERS.flatMap((wanted) => SCHEDULERS.map((used) => ({ wanted, used })))

test.each(pairs)('$wanted expected, $used used', async ({ wanted, used }) => {
  const stage = await stageOf(used)
  try {
    const faults = await OBSERVATIONS[wanted](stage)
    if (wanted === used) expect(faults).toEqual([])
    else expect(faults).not.toEqual([])
  } finally {
    await stage.release()
  }
})
