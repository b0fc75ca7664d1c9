import { DNS_FIELDS } from '../dns/dns-fields.ts'
import type { IpAddress } from '../lib/ip.ts'
import {
  asProblem,
  createAnswers,
  type ExitCode,
  type Output,
  type Terminal,
} from '../settings/answers.ts'
import { parseFlags } from '../settings/flags.ts'
import { helpText } from '../settings/help.ts'
import { loadSettings } from '../settings/load.ts'
import { socketAddress } from '../settings/network-types.ts'
import { duration, integer, text } from '../settings/scalar-types.ts'
import { type CommandFlags, settingsTable } from '../settings/table.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { OrchDnsConfiguration } from './configuration.ts'

const STATUS_PORT = 9_153
const ANY = '0.0.0.0' as IpAddress
const DNS_PORT = 53
const SHUTDOWN_DELAY_MS = 5_000

const COMMAND_FLAGS = {
  config: { value: 'file', doc: 'Configuration file (YAML or JSON). Flags win over it.' },
  version: { doc: 'Print the version and exit.' },
  help: { doc: 'Print this and exit.' },
} as const satisfies CommandFlags

/** The table of orch-dns's settings, from which everything about them is derived. */
export const SETTINGS_TABLE = settingsTable<OrchDnsConfiguration, typeof COMMAND_FLAGS>({
  program: 'orch-dns',
  about:
    'orch-dns answers the DNS names of Services. It watches Services and endpoints on an API server, orch-server or that of Kubernetes, and runs as a Deployment behind a Service, or on each node.',
  fields: {
    kubeconfig: {
      flag: 'kubeconfig',
      type: text(),
      fallback: '',
      doc: 'Kubeconfig file with the API server and the credentials. Empty: the service account of the Pod.',
    },
    ...DNS_FIELDS,
    'dns.addresses': { ...DNS_FIELDS['dns.addresses'], fallback: [{ ip: ANY, port: DNS_PORT }] },
    statusAddress: {
      flag: 'status-address',
      type: socketAddress(STATUS_PORT),
      fallback: { ip: ANY, port: STATUS_PORT },
      doc: 'Where /metrics, /healthz, /livez and /readyz are served. "" serves them nowhere.',
    },
    shutdownDelay: {
      flag: 'shutdown-delay',
      type: duration(0),
      fallback: SHUTDOWN_DELAY_MS,
      doc: 'How long questions are still answered after the signal to stop, while /readyz already fails: until every node has noticed that the Pod is ending. Less than its grace period.',
    },
    'logging.verbosity': {
      flag: 'v',
      type: integer(0, 10),
      fallback: 0,
      doc: 'How much is logged: 0 to 2 events of operation, 3 to 5 debugging, 6 to 10 everything.',
    },
  },
  kind: { apiVersion: 'dns.config.orch.io/v1alpha1', kind: 'OrchDnsConfiguration' },
  foreignKinds: [],
  commandFlags: COMMAND_FLAGS,
  deprecatedFlags: new Map(),
  ignoredFlags: new Map(),
  rules: [
    ({ dns }) =>
      dns.addresses.length > 0
        ? undefined
        : {
            paths: ['dns.addresses'],
            message: 'a DNS server needs an address; write one, such as 0.0.0.0:53',
          },
  ],
  codes: {
    flag: 'NP_ORCHDNS_FLAG',
    unreadable: 'NP_ORCHDNS_CONFIG_UNREADABLE',
    syntax: 'NP_ORCHDNS_CONFIG_SYNTAX',
    kind: 'NP_ORCHDNS_CONFIG_KIND',
    field: 'NP_ORCHDNS_CONFIG_FIELD',
    value: 'NP_ORCHDNS_CONFIG_VALUE',
    conflict: 'NP_ORCHDNS_CONFIG_CONFLICT',
    ignored: 'NP_ORCHDNS_CONFIG_IGNORED',
  },
})

/** Serves until a signal ends it. */
export type RunDns = (config: OrchDnsConfiguration, log: Logger, version: string) => Promise<void>

/** The program's access to its environment. */
export interface Host extends Terminal {
  /** Where records go; standard output unless given. */
  readonly logStream?: Output
  readonly version: string
  /** Loads the part of the program that serves. */
  loadServer(): Promise<RunDns>
}

/** The program, from its arguments (without node and script) to its exit code. */
export async function runProgram(args: readonly string[], host: Host): Promise<ExitCode> {
  const answers = createAnswers(SETTINGS_TABLE.program, host)
  const parsed = parseFlags(SETTINGS_TABLE, args)
  if (!parsed.ok) return answers.refuse([parsed.problem])
  const { commands } = parsed.line
  if (commands.help) return answers.print(helpText(SETTINGS_TABLE))
  if (commands.version) return answers.print(`orch-dns ${host.version}\n`)
  try {
    const loaded = await loadSettings(SETTINGS_TABLE, parsed.line)
    if (!loaded.ok) return answers.refuse(loaded.problems)
    return await serve(loaded.config, host)
  } catch (error) {
    return answers.refuse([asProblem(error)])
  }
}

async function serve(config: OrchDnsConfiguration, host: Host): Promise<ExitCode> {
  const { createLogger } = await import('../telemetry/logger.ts')
  const log = await createLogger({
    verbosity: config.logging.verbosity,
    pretty: host.stdout.isTTY === true,
    ...(host.logStream && { stream: host.logStream }),
  })
  const run = await host.loadServer()
  try {
    await run(config, log, host.version)
    return 0
  } catch (error) {
    log.fatal({ err: error }, 'orch-dns ends')
    return 1
  }
}
