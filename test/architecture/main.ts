import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { projectTexts } from './project-texts.ts'
import { isTest, readSources, root } from './source-file.ts'
import { graphOf } from './structure.ts'
import { structureReport } from './structure-report.ts'
import { touches } from './touches.ts'
import { wordHits } from './vocabulary.ts'

const USAGE = `scripts/node test/architecture/main.ts structure [CHECKOUT]     the shape of src, as JSON
scripts/node test/architecture/main.ts words [FOLDER]           retired words, one hit a line
scripts/node test/architecture/main.ts touches WORD [CHECKOUT]  files that name a kind, a mode, a field or a metric
scripts/node test/architecture/main.ts walks [CHECKOUT]         files that requests, changes and questions enter; needs root
`

const [command, argument, checkout] = process.argv.slice(2)

if (command === undefined || process.argv.includes('--help')) {
  process.stdout.write(USAGE)
} else if (command === 'structure') {
  const base = resolve(argument ?? root)
  const others = [...(await readSources('test', base)), ...(await readSources('bench', base))]
  const report = structureReport(graphOf(await readSources('src', base), others))
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
} else if (command === 'words') {
  for (const { path, line, found, use } of projectTexts(argument ?? '.').flatMap(wordHits)) {
    process.stdout.write(`${path}:${line}: ${found} → ${use}\n`)
  }
} else if (command === 'touches' && argument !== undefined) {
  const production = projectTexts('src', resolve(checkout ?? root)).filter(
    ({ path }) => path.endsWith('.ts') && !isTest(path) && !path.includes('/testing/'),
  )
  process.stdout.write(`${touches(argument, production).join('\n')}\n`)
} else if (command === 'walks') {
  const program = join(import.meta.dirname, 'walks/main.ts')
  const inside = `ip link set lo up; exec "$0" --no-warnings ${JSON.stringify(program)} "$1"`
  const args = ['--net', 'sh', '-c', inside, process.execPath, resolve(argument ?? root)]
  process.exitCode = spawnSync('unshare', args, { stdio: 'inherit' }).status ?? 1
} else {
  process.stderr.write(USAGE)
  process.exitCode = 64
}
