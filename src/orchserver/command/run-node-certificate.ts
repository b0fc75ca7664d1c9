import { join } from 'node:path'
import { systemClock } from '../../lib/clock.ts'
import { parseDuration, timestamp } from '../../lib/duration.ts'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import { isSubdomain } from '../../resources/names.ts'
import {
  asProblem,
  createAnswers,
  type ExitCode,
  type Problem,
  type Terminal,
} from '../../settings/answers.ts'
import { type CommandValues, flagProblem, parseFlags } from '../../settings/flags.ts'
import { helpText } from '../../settings/help.ts'
import { loadSettings } from '../../settings/load.ts'
import { type CommandFlags, type SettingsTable, settingsTable } from '../../settings/table.ts'
import { nodeCertificate } from '../access/issued-certificate.ts'
import { readAuthority } from '../certificates/authority.ts'
import { COMMAND_FLAGS, type OrchServerConfiguration } from '../config/configuration.ts'
import { SETTINGS_TABLE } from '../config/settings-table.ts'
import { writePrivateFile } from '../system/private-file.ts'

const NODE_CERTIFICATE_FLAGS = {
  node: { value: 'name', doc: 'The name of the Node object.' },
  address: {
    value: 'ip',
    isRepeated: true,
    doc: 'An address at which other machines reach the node: its InternalIP. Repeat the flag for more.',
  },
  'valid-for': {
    value: 'duration',
    doc: 'How long the certificate is valid: at least 10m, and no longer than its authority. Default: 8760h, which is 365 days.',
  },
  output: {
    value: 'folder',
    doc: 'Where to write tls.crt and tls.key, for this user only. Files that are there are replaced.',
  },
  config: COMMAND_FLAGS.config,
  help: COMMAND_FLAGS.help,
} as const satisfies CommandFlags

const TABLE = settingsTable<OrchServerConfiguration, typeof NODE_CERTIFICATE_FLAGS>({
  ...SETTINGS_TABLE,
  program: 'orch-server node-certificate',
  about:
    'orch-server node-certificate writes a certificate with which node-proxy serves inspection to other machines (inspection.tlsCertFile, inspection.tlsPrivateKeyFile). It is signed by the authority of the data directory, which kubeconfigs of this server trust. Works also while no server runs.',
  commandFlags: NODE_CERTIFICATE_FLAGS,
})

/** The flags of the command: its own, and the setting that says where the authority is. */
export const NODE_CERTIFICATE_TABLE: SettingsTable<
  OrchServerConfiguration,
  typeof NODE_CERTIFICATE_FLAGS
> = { ...TABLE, entries: TABLE.entries.filter(([path]) => path === 'dataDir') }

const DEFAULT_LIFE = 365 * 86_400_000
const MIN_LIFE = 600_000

/** `orch-server node-certificate`: from the arguments after it to the exit code. */
export async function runNodeCertificate(
  flags: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  const answers = createAnswers(SETTINGS_TABLE.program, terminal)
  const parsed = parseFlags(NODE_CERTIFICATE_TABLE, flags)
  if (!parsed.ok) return answers.refuse([parsed.problem])
  const { commands } = parsed.line
  if (commands.help) return answers.print(helpText(NODE_CERTIFICATE_TABLE))
  const request = nodeCertificateRequest(commands)
  if ('code' in request) return answers.refuse([request])
  try {
    const loaded = await loadSettings(SETTINGS_TABLE, parsed.line)
    if (!loaded.ok) return answers.refuse(loaded.problems)
    const folder = join(loaded.config.dataDir, 'pki')
    const now = systemClock.now()
    const { cert, key } = await nodeCertificate(await readAuthority(folder), request, now)
    await writePrivateFile(join(request.output, 'tls.key'), key)
    await writePrivateFile(join(request.output, 'tls.crt'), cert)
    const end = timestamp(now + request.life)
    terminal.stderr.write(
      `orch-server: the certificate of node ${quote(request.node)} is valid until ${end}; its authority is ${join(folder, 'ca.crt')}\n`,
    )
    return 0
  } catch (error) {
    const problem = asProblem(error)
    const isWrongLine = problem.code === SETTINGS_TABLE.codes.flag
    return isWrongLine ? answers.refuse([problem]) : answers.fail(error)
  }
}

/** The certificate that an operator wants. */
interface NodeCertificateRequest {
  readonly node: string
  readonly addresses: readonly IpAddress[]
  /** Milliseconds. */
  readonly life: number
  /** A folder. */
  readonly output: string
}

/** What the flags of the command request, or the first thing that is wrong with them. */
function nodeCertificateRequest({
  node = '',
  address: texts,
  'valid-for': validFor,
  output = '',
}: CommandValues<NodeCertificateFlags>): NodeCertificateRequest | Problem {
  if (!isSubdomain(node)) return problem('node', node, 'write the name of the Node object')
  const addresses = texts.flatMap((text) => parseIp(text) ?? [])
  const wrong = texts.find((text) => parseIp(text) === undefined)
  if (wrong !== undefined || addresses.length === 0) {
    return problem('address', wrong, 'write an IP address of the node, its InternalIP')
  }
  const life = validFor === undefined ? DEFAULT_LIFE : parseDuration(validFor)
  if (life === undefined || life < MIN_LIFE) {
    return problem('valid-for', validFor, 'write a duration such as 720h, of at least 10m')
  }
  if (output === '') return problem('output', undefined, 'write a folder')
  return { node, addresses: [...new Set(addresses)], life, output }
}

function problem(
  flag: keyof NodeCertificateFlags,
  text: string | undefined,
  message: string,
): Problem {
  return flagProblem(NODE_CERTIFICATE_TABLE, `--${flag}`, message, text)
}

type NodeCertificateFlags = typeof NODE_CERTIFICATE_FLAGS
