import { targetsTable } from '../verdict.ts'
import type { AuthMeasured, AuthResults } from './results.ts'
import { decisionsTable, floodTable, requestsTable } from './tables.ts'
import { authVerdicts } from './targets.ts'

/** Everything about authentication and authorization, as a part of the page. */
export function authSection(results: AuthResults): string {
  const sections = [
    ['Targets', targetsTable(authVerdicts(results.measured))] as const,
    ...measuredSections(results.measured),
  ]
  const body = sections
    .map(([title, text]) => `### Authentication: ${title}\n\n${text}\n`)
    .join('\n')
  return `${head(results)}\n${body}`
}

function measuredSections({ decisions, requests, flood }: Partial<AuthMeasured>) {
  return [
    ...(decisions ? [['Decisions of RBAC', decisionsTable(decisions)] as const] : []),
    ...(requests ? [['What a request costs, 8 clients', requestsTable(requests)] as const] : []),
    ...(flood ? [['A good client beside bad tokens', floodTable(flood)] as const] : []),
  ]
}

function head({ machine, startedAt, quick, busyPercent, unfinished }: AuthResults): string {
  const { cores, kernel, node } = machine
  const warning = quick ? '\n**A quick run: too few repetitions to be quoted.**\n' : ''
  return `## Authentication and authorization
${warning}
${startedAt}; ${cores} cores, Linux ${kernel}, Node ${node}. Servers over HTTPS with the embedded store, each in a
process of its own; servers, clients and attackers share the cores. Ratios are of the same round.
Before, the machine was ${busyPercent.toFixed(0)} % busy with other things.
${unfinished === undefined ? '' : `\n- stopped: ${unfinished}\n`}`
}
