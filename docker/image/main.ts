import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sourceDateOf } from '../../packaging/checkout.ts'
import { ownProcessor, PROCESSORS, type Processor } from '../../packaging/node-program.ts'
import { buildImage, buildSharedLayers, type Image } from './build.ts'
import { downloadPackages, packageFolder, packagesIn } from './debian-packages.ts'
import { emulatorOf } from './emulator.ts'
import { PACKAGES, RECIPES } from './recipe.ts'

const ARCHITECTURES = Object.values(PROCESSORS)
const USAGE = `Usage: npm run image -- [flags] [${RECIPES.map(({ name }) => name).join('|')}]…

Writes container images, all of them unless some are named: dist/NAME.tar, which docker load, podman load and
ctr image import read, and dist/NAME.spdx.json, what is in it. Needs no container engine.

  --architecture <a>   Processor to build for, ${ARCHITECTURES.join(' or ')}, instead of this machine's; another one's images are
                       called NAME-ARCHITECTURE, and QEMU runs their Node while it compiles
  --output <folder>    Where to write, instead of dist
  --tag <tag>          Tag of the images, instead of the version
  --packages <folder>  Take the Debian packages of this folder, instead of downloading them with apt-get
  --help               Print this and exit

SOURCE_DATE_EPOCH, or else the time of the last commit, is the time of every file. The same checkout, packages and
time make the same bytes, on processors that can do the same.
`
const root = join(import.meta.dirname, '../..')
const MB = 1_000_000

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`image: ${error instanceof Error ? error.message : String(error)}\n`)
  return 1
})

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      architecture: { type: 'string', default: PROCESSORS[ownProcessor()] },
      output: { type: 'string', default: join(root, 'dist') },
      tag: { type: 'string' },
      packages: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const recipes = recipesOf(positionals)
  const processor = processorOf(values.architecture)
  const packages =
    values.packages === undefined
      ? await downloadPackages(PACKAGES, packageFolder(root), processor)
      : packagesIn(values.packages)
  const emulator = await emulatorOf(root, processor)
  const time = sourceDateOf(root)
  const shared = await buildSharedLayers({ root, processor, emulator, packages, time })
  const suffix = processor === ownProcessor() ? '' : `-${values.architecture}`
  mkdirSync(values.output, { recursive: true })
  for (const recipe of recipes) {
    const image = await buildImage(recipe, shared, values.tag)
    const path = join(values.output, `${image.name}${suffix}.tar`)
    writeFileSync(path, image.archive)
    writeFileSync(join(values.output, `${image.name}${suffix}.spdx.json`), image.sbom)
    process.stdout.write(`${path}\n${tableOf(image)}`)
  }
  return 0
}

function processorOf(architecture: string): Processor {
  const [found] = Object.entries(PROCESSORS).find(([, name]) => name === architecture) ?? []
  if (found !== undefined) return found as Processor
  const known = ARCHITECTURES.join(' or ')
  throw new Error(`--architecture: ${JSON.stringify(architecture)} is unknown: write ${known}`)
}

function recipesOf(names: readonly string[]) {
  for (const name of names) {
    if (RECIPES.some((recipe) => recipe.name === name)) continue
    const known = RECIPES.map((recipe) => recipe.name).join(', ')
    throw new Error(`there is no image ${JSON.stringify(name)}: name one of ${known}`)
  }
  return names.length === 0 ? RECIPES : RECIPES.filter(({ name }) => names.includes(name))
}

/** What each layer weighs. */
function tableOf({ layers, archive }: Image): string {
  const row = (title: string, unpacked: number, packed: number) =>
    `  ${(unpacked / MB).toFixed(1).padStart(6)} MB, compressed ${(packed / MB).toFixed(1).padStart(5)} MB  ${title}\n`
  const sum = layers.reduce((total, { unpacked }) => total + unpacked, 0)
  return [
    ...layers.map(({ title, unpacked, blob }) => row(title, unpacked, blob.length)),
    row('in all', sum, archive.length),
  ].join('')
}
