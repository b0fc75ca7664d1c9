import { join } from 'node:path'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { timestamp } from '../../lib/timestamp.ts'
import { asProblem, createAnswers, type ExitCode, type Terminal } from '../../settings/answers.ts'
import { parseFlags } from '../../settings/flags.ts'
import { helpText } from '../../settings/help.ts'
import { nodeCertificate } from '../access/node-certificate.ts'
import { readAuthority } from '../certificates/authority.ts'
import { SETTINGS_TABLE } from '../config/fields/settings-table.ts'
import { writePrivateFile } from '../system/private-file.ts'
import { loadSettings } from './load-settings.ts'
import { nodeCertificateRequest } from './node-certificate-request.ts'
import { NODE_CERTIFICATE_TABLE } from './node-certificate-table.ts'

/** `orch-server node-certificate`, from the arguments behind it to the exit code. */
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
    const loaded = await loadSettings(parsed.line)
    if (!loaded.ok) return answers.refuse(loaded.problems)
    const folder = join(loaded.config.dataDir, 'pki')
    const now = systemClock.now()
    const { cert, key } = await nodeCertificate(await readAuthority(folder), request, now)
    await writePrivateFile(join(request.output, 'tls.key'), key)
    await writePrivateFile(join(request.output, 'tls.crt'), cert)
    const end = timestamp(now + request.life)
    terminal.stderr.write(
      `orch-server: the certificate of node ${quote(request.node)} is good until ${end}; its authority is ${join(folder, 'ca.crt')}\n`,
    )
    return 0
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    const isWrongLine = error.code === SETTINGS_TABLE.codes.flag
    return isWrongLine ? answers.refuse([asProblem(error)]) : answers.fail(error)
  }
}
