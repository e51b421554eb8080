// Compile the .sol files of the current folder: node compile_contracts.js <output folder>.
// The folder's package.json pins solc and holds its settings under "solcSettings": same input, same bytes.
const fs = require('fs');
const path = require('path');

const folder = process.cwd();
const read = (...parts) => fs.readFileSync(path.join(folder, ...parts), 'utf8');
const solc = require(require.resolve('solc', {paths: [folder]}));

const names = fs.readdirSync(folder).filter((file) => file.endsWith('.sol')).sort();
const input = {
  language: 'Solidity',
  sources: Object.fromEntries(names.map((name) => [name, {content: read(name)}])),
  settings: {
    ...JSON.parse(read('package.json')).solcSettings,
    metadata: {appendCBOR: false, bytecodeHash: 'none'},
    outputSelection: {'*': {'*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object']}},
  },
};
const findImport = (file) => ({contents: read('node_modules', file)});
const output = JSON.parse(solc.compile(JSON.stringify(input), {import: findImport}));
// Warnings about our own sources fail the build too; those about imported packages do not.
const isProblem = (e) => e.severity === 'error' || (e.sourceLocation && names.includes(e.sourceLocation.file));
const problems = (output.errors || []).filter(isProblem);
if (problems.length) {
  console.error(problems.map((e) => e.formattedMessage).join('\n'));
  process.exit(1);
}
for (const file of names) {
  const name = path.basename(file, '.sol');
  const {abi, evm} = output.contracts[file][name];
  if (evm.deployedBytecode.object.length / 2 > 24576) throw new Error(`${name} is over EIP-170's limit`);
  const artifact = {name, compiler: solc.version(), abi, bytecode: '0x' + evm.bytecode.object};
  fs.writeFileSync(path.join(process.argv[2], `${name}.json`), JSON.stringify(artifact, null, 2) + '\n');
}
