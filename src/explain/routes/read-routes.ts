import type { Family } from '../../lib/ip.ts'
import { type JsonObject, parseObjects } from '../host/read-json.ts'
import type { RunCommand } from '../host/run-command.ts'

/** `ip -j rule show` and `ip -j route show table all` of one address family. */
export interface RouteListing {
  readonly rules: readonly JsonObject[]
  readonly routes: readonly JsonObject[]
}

/** Policy rules and routes of both families. */
export type RouteListings = Readonly<Record<Family, RouteListing>>

/** Reads policy rules and all routes; none of a family that the kernel does not have. */
export async function readRoutes(run: RunCommand): Promise<RouteListings> {
  return { 4: await readFamily(run, 4), 6: await readFamily(run, 6) }
}

async function readFamily(run: RunCommand, family: Family): Promise<RouteListing> {
  const list = async (...words: readonly string[]) => {
    const { status, stdout } = await run('ip', ['-j', `-${family}`, ...words])
    return status === 0 ? parseObjects(stdout) : []
  }
  const rules = await list('rule', 'show')
  return { rules, routes: await list('route', 'show', 'table', 'all') }
}
