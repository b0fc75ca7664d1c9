import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProgram } from './program.ts'
import type { ProxySetup, Subject } from './subject.ts'

export const STREAM_MODULE = '/usr/lib/nginx/modules/ngx_stream_module.so'
const SPARE = 500

export const nginx: Subject = {
  name: 'nginx',
  start(setup) {
    const file = join(setup.folder, 'nginx.conf')
    writeFileSync(file, nginxConfig(setup))
    return startProgram(setup, ['nginx', '-e', 'stderr', '-c', file])
  },
}

/** The configuration, with a listening socket for each worker, so that the kernel spreads the clients evenly. */
export function nginxConfig({ listen, backend, workers, descriptors, folder }: ProxySetup): string {
  return `load_module ${STREAM_MODULE};
user root;
worker_processes ${workers};
worker_rlimit_nofile ${descriptors};
daemon off;
pid ${folder}/nginx.pid;
error_log stderr crit;
events { worker_connections ${descriptors - SPARE}; }
stream {
  server {
    listen ${listen.ip}:${listen.port} reuseport backlog=4096;
    proxy_pass ${backend.ip}:${backend.port};
    proxy_timeout 1h;
  }
}
`
}
