import { globSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Runs where a package is installed, in its folder: loads every module but programs, threads and what a browser loads,
 * so that Node writes them to its compile cache when this ends.
 */
const modules = globSync('src/**/*.ts', {
  exclude: ['src/page/files/**', 'src/**/{main,daemon}.ts', 'src/**/*{worker,main}.ts'],
})
for (const path of modules) await import(join(process.cwd(), path))
process.exit()
