import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../../lib/json.ts'
import { printable } from '../../../lib/quote.ts'
import { bearer, type Credential, type CredentialSource } from './credential.ts'
import { checkToken } from './token-file.ts'

/** The supported versions of ExecCredential, the API of client-go credential plugins. */
export type ExecApiVersion =
  | 'client.authentication.k8s.io/v1'
  | 'client.authentication.k8s.io/v1beta1'

/** The `exec` entry of a kubeconfig user. */
export interface ExecPlugin {
  readonly apiVersion: ExecApiVersion
  /** A name to search for in PATH, or an absolute path. */
  readonly command: string
  readonly args: readonly string[]
  /** Variables that the plugin gets in addition to the environment of this process. */
  readonly env: Readonly<Record<string, string>>
  /** How to install the plugin; it becomes the hint of errors. */
  readonly installHint: string | undefined
  /** `spec.cluster` in the variable KUBERNETES_EXEC_INFO; undefined unless `provideClusterInfo` is true. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined
}

/** The credential of the last run of a plugin. */
interface Cached {
  readonly credential: Credential
  /** When the plugin must run again, in milliseconds since the epoch; Infinity if the credential has no expiry. */
  readonly renewAt: number
}

/**
 * A credential from a plugin. The plugin runs without a shell. It runs again only shortly before its credential
 * expires, or after the server refused it. Calls of `current` while it runs wait for the same run.
 */
export function execCredential(plugin: ExecPlugin, clock: Clock): CredentialSource {
  let cached: Cached | undefined
  let running: Promise<Cached> | undefined

  async function current(): Promise<Credential> {
    const fresh = cached
    if (fresh !== undefined && clock.now() < fresh.renewAt) return fresh.credential
    running ??= runPlugin(plugin, clock.now()).finally(() => {
      running = undefined
    })
    cached = await running
    return cached.credential
  }

  return {
    kind: 'exec',
    current,
    reject() {
      cached = undefined
      return true
    },
  }
}

/**
 * Milliseconds after which the plugin is stopped. Requests to the API server have the same timeout. A plugin that hangs
 * is therefore reported within half a minute, as a server that does not answer is.
 */
const TIMEOUT_MS = 25_000
/** The maximum number of characters of stdout, and of stderr. The plugin is stopped if it writes more. */
const OUTPUT_LIMIT = 1024 * 1024
/** A sequence of characters that may be a token. Errors show the stderr of a plugin without such sequences. */
const SECRET = /[A-Za-z0-9+/_=.-]{20,}/g
/** The number of characters of stderr, from its end, that an error shows. */
const STDERR_SHOWN = 200

/**
 * Runs the plugin and reads its output. Loads execa on the first call, because few kubeconfigs have a plugin, and execa
 * takes 20 MiB of memory. `now`: milliseconds since the epoch. @throws NP_CLIENT_CREDENTIAL
 */
async function runPlugin(plugin: ExecPlugin, now: number): Promise<Cached> {
  const { execa } = await import('execa')
  const result = await execa(plugin.command, plugin.args, {
    shell: false,
    reject: false,
    stdin: 'ignore',
    timeout: TIMEOUT_MS,
    maxBuffer: OUTPUT_LIMIT,
    env: { ...plugin.env, KUBERNETES_EXEC_INFO: execInfo(plugin) },
  })
  if (result.failed) {
    const stderr = printable((result.stderr ?? '').replace(SECRET, '…')).slice(-STDERR_SHOWN)
    const outcome = outcomeOf(result)
    throw pluginError(plugin, stderr === '' ? outcome : `${outcome}: ${stderr}`)
  }
  return readExecCredential(plugin, parseJson(result.stdout), now)
}

/** How a plugin failed. `code`: the error code of the system, such as ENOENT. */
function outcomeOf(result: {
  readonly timedOut: boolean
  readonly isMaxBuffer: boolean
  readonly signal?: string | undefined
  readonly exitCode?: number | undefined
  readonly code?: string | undefined
}): string {
  if (result.timedOut) return `no answer in ${TIMEOUT_MS / 1000} s`
  if (result.isMaxBuffer) return `its output is longer than ${OUTPUT_LIMIT} characters`
  if (result.signal !== undefined) return `${result.signal} ended it`
  if (result.exitCode !== undefined) return `it ended with exit code ${result.exitCode}`
  return `it did not run (${result.code ?? 'unknown error'})`
}

/** The value of KUBERNETES_EXEC_INFO. */
function execInfo(plugin: ExecPlugin): string {
  const cluster = plugin.cluster === undefined ? {} : { cluster: plugin.cluster }
  const spec = { ...cluster, interactive: false }
  return JSON.stringify({ kind: 'ExecCredential', apiVersion: plugin.apiVersion, spec })
}

/**
 * Milliseconds before its expiry at which a credential is renewed, so that it does not expire during a request. If its
 * remaining life is shorter than twice this time, it is renewed after half of that life.
 */
const EARLY_MS = 30_000

/** Checks and reads the ExecCredential that the plugin wrote. @throws NP_CLIENT_CREDENTIAL */
function readExecCredential(plugin: ExecPlugin, output: unknown, now: number): Cached {
  if (!isJsonObject(output) || output['kind'] !== 'ExecCredential') {
    throw pluginError(plugin, 'its output is not an ExecCredential')
  }
  if (output['apiVersion'] !== plugin.apiVersion) {
    throw pluginError(plugin, `its output is not of apiVersion ${plugin.apiVersion}`)
  }
  const status = isJsonObject(output['status']) ? output['status'] : {}
  const credential = { ...readToken(plugin, status), ...readCertificate(plugin, status) }
  if (credential.authorization === undefined && credential.certificate === undefined) {
    throw pluginError(
      plugin,
      'its output has neither status.token nor status.clientCertificateData',
    )
  }
  const expiry = readExpiry(plugin, status)
  if (expiry === undefined) return { credential, renewAt: Number.POSITIVE_INFINITY }
  const early = Math.min(EARLY_MS, Math.max(0, (expiry - now) / 2))
  return {
    credential: { ...credential, validity: { ...credential.validity, to: expiry } },
    renewAt: expiry - early,
  }
}

function readToken(plugin: ExecPlugin, status: JsonObject): Credential {
  const token = status['token']
  if (typeof token !== 'string' || token === '') return {}
  return bearer(checkToken(token, plugin.command))
}

function readCertificate(plugin: ExecPlugin, status: JsonObject): Credential {
  const { clientCertificateData: cert, clientKeyData: key } = status
  if (cert === undefined && key === undefined) return {}
  if (typeof cert === 'string' && typeof key === 'string') return { certificate: { cert, key } }
  throw pluginError(plugin, 'clientCertificateData and clientKeyData must come together')
}

/** The expiry in milliseconds since the epoch; undefined if the plugin states none. @throws NP_CLIENT_CREDENTIAL */
function readExpiry(plugin: ExecPlugin, status: JsonObject): number | undefined {
  const stamp = status['expirationTimestamp']
  if (stamp === undefined || stamp === null) return undefined
  const expiry = typeof stamp === 'string' ? Date.parse(stamp) : Number.NaN
  if (Number.isNaN(expiry)) throw pluginError(plugin, 'status.expirationTimestamp is not a time')
  return expiry
}

/** NP_CLIENT_CREDENTIAL, with the hint of the plugin. `reason` must not contain a secret. */
function pluginError(plugin: ExecPlugin, reason: string): NodeProxyError {
  const message = `the credential plugin ${JSON.stringify(plugin.command)} failed: ${reason}`
  const hint = plugin.installHint
  const details = { object: plugin.command, ...(hint === undefined ? {} : { hint }) }
  return new NodeProxyError('NP_CLIENT_CREDENTIAL', message, details)
}
