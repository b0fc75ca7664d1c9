import type { Ipvs, IpvsCommand } from '../../../kernel/ipvs/ipvs.ts'
import type { KernelError, ObjectKey } from '../../mode.ts'
import type { ServerPlan } from './server-commands.ts'

/** Code: another process has a virtual server there. */
export const FOREIGN = 'NP_IPVS_FOREIGN'

/** The commands for one virtual server. */
export interface Step {
  readonly key: ObjectKey
  readonly plan: ServerPlan
}

/** The first refusal of each step. */
export interface Refused {
  /** Virtual servers that could not be created. */
  readonly unmade: ReadonlyMap<ObjectKey, KernelError>
  /** Virtual servers that exist, but not as planned. */
  readonly incomplete: ReadonlyMap<ObjectKey, KernelError>
}

/**
 * Sends the commands of all steps; a lost answer throws `NodeProxyError`. A virtual server that could not be created
 * gets no real servers: it may be foreign.
 */
export async function runPlans(ipvs: Pick<Ipvs, 'run'>, steps: readonly Step[]): Promise<Refused> {
  const makes = (command: IpvsCommand) => command.do === 'addService'
  const unmade = await run(ipvs, steps, makes)
  const made = steps.filter(({ key }) => !unmade.has(key))
  const incomplete = await run(ipvs, made, (command) => !makes(command))
  return { unmade, incomplete }
}

async function run(
  ipvs: Pick<Ipvs, 'run'>,
  steps: readonly Step[],
  isMeant: (command: IpvsCommand) => boolean,
): Promise<ReadonlyMap<ObjectKey, KernelError>> {
  const orders = steps.flatMap(({ key, plan }) =>
    plan.commands.filter(isMeant).map((command) => ({ key, command })),
  )
  const refused = new Map<ObjectKey, KernelError>()
  if (orders.length === 0) return refused
  for (const { index, errno, message } of await ipvs.run(orders.map(({ command }) => command))) {
    const order = orders[index]
    if (order === undefined || refused.has(order.key)) continue
    refused.set(order.key, { code: codeOf(order.command, errno), message })
  }
  return refused
}

function codeOf(command: IpvsCommand, errno: string): string {
  const isService = command.do === 'addService' || command.do === 'setService'
  if (isService && errno === 'ENOENT') return 'NP_IPVS_SCHEDULER'
  if (command.do === 'addService' && errno === 'EEXIST') return FOREIGN
  return 'NP_IPVS_REFUSED'
}
