/** Everything a host test, or the demo, needs. The shapes are described in index.d.mts. */
export { installHost, hostSupport } from '../../../scripts/install-host.mjs'
export { drive, startHost } from './drive.mjs'
export { exclusively } from './exclusive.mjs'
export { addPlugin, createHome, pluginCommand, removeHome, writePatch } from './home.mjs'
export { packPlugin } from './pack-plugin.mjs'
export { hostEnvironment, runHeadless } from './run-headless.mjs'
export { startForwardingModel } from './forwarding-model.mjs'
export { callTool, startScriptedModel } from './scripted-model.mjs'
