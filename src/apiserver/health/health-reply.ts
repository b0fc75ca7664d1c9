import type { Reply } from '../request/api-request.ts'
import type { HealthCheck, HealthEndpoint } from './health-checks.ts'

/**
 * Runs the checks except those that `?exclude=` names. The answer lists them if `?verbose` is given, or if one
 * fails or warns.
 */
export async function healthReply(
  endpoint: HealthEndpoint,
  checks: readonly HealthCheck[],
  query: URLSearchParams,
): Promise<Reply> {
  const excluded = new Set(query.getAll('exclude'))
  const results = await Promise.all(checks.map((check) => resultOf(check, excluded)))
  const passed = results.every((one) => one.passed)
  const verdict = `${endpoint} check ${passed ? 'passed' : 'failed'}`
  const isShort = passed && !query.has('verbose') && results.every((one) => !one.warns)
  const text = isShort ? 'ok' : `${[...results.map(({ line }) => line), verdict].join('\n')}\n`
  const contentType = 'text/plain; charset=utf-8'
  return { code: passed ? 200 : 503, contentType, body: [Buffer.from(text)] }
}

async function resultOf(check: HealthCheck, excluded: ReadonlySet<string>) {
  const { name } = check
  if (excluded.has(name)) return { passed: true, warns: false, line: `[+]${name} excluded: ok` }
  const fault = await check.fault()
  if (fault !== undefined) {
    return { passed: false, warns: false, line: `[-]${name} failed: ${fault}` }
  }
  const warning = check.warning?.()
  const line = warning === undefined ? `[+]${name} ok` : `[!]${name} warning: ${warning}`
  return { passed: true, warns: warning !== undefined, line }
}
